// session.* and owner.*: the conversations of an owner.
#include "actors/front/method_groups.hpp"
#include "actors/front/objects.hpp"

namespace holdfast::front {
namespace {

constexpr std::string_view session_row = R"({"owner": "default", "child": null, "session": "default", "state": "new",
 "kernels": [], "cell": null, "queued": 0, "jobs": 0, "idle_ms": 12, "saved_bytes": 0, "notices": 0,
 "created_at": "2026-01-31T12:00:00.000Z"})";

method list_method() {
  return {
      .name = "session.list",
      .sentence = "Lists sessions, newest first, of every owner unless one is named.",
      .params = {filter_param("owner", "only this owner's"),
                 filter_param("child", "only this child's"),
                 {.name = "state", .type = param_type::word, .words = session_states(), .sentence = "only sessions in this state"},
                 limit_param(),
                 after_param()},
      .result = {"session row", true, "the sessions"},
      .errors = {},
      .examples = {{R"({"owner": "default"})",
                    R"({"items": [{"owner": "default", "child": null, "session": "default", "state": "new",
            "kernels": [], "cell": null, "queued": 0, "jobs": 0, "idle_ms": 12, "saved_bytes": 0, "notices": 0,
            "created_at": "2026-01-31T12:00:00.000Z"}], "next": null})"}},
      .build = [](arguments const& given) {
        return to_supervisor(list_sessions{given.optional_text("owner"), given.optional_text("child"), given.optional_text("state"),
                                           static_cast<std::size_t>(given.integer("limit")), given.text("after")});
      }};
}

method get_method() {
  return {.name = "session.get",
          .sentence = "Shows one session.",
          .params = with_session({}),
          .result = {"session row", false, "its row"},
          .errors = {error_code::not_found},
          .examples = {{"{}", session_row}},
          .build = [](arguments const& given) { return to_session(given, get_session{}); }};
}

method variables_method() {
  return {.name = "session.variables",
          .sentence = "Lists the variables of the session's kernel; none when it has no kernel.",
          .params = with_session({limit_param(), after_param()}),
          .result = {"variable", true, "the variables, in the order of their first assignment"},
          .errors = {error_code::not_found, error_code::busy, error_code::unreachable},
          .examples = {{"{}", R"({"items": [], "next": null})"}},
          .build = [](arguments const& given) {
            return to_session(given, list_variables{static_cast<std::size_t>(given.integer("limit")), given.text("after")});
          }};
}

method fork_method() {
  return {.name = "session.fork",
          .sentence =
              "Makes another session of the same owner and child with a copy of this one's namespace and settings. Jobs and "
              "connections stay with this one.",
          .params =
              with_session({{.name = "into", .type = param_type::id, .required = true, .sentence = "the name of the new session"}}),
          .result = {"forked session", false, "the row of the new session, and what it does not have"},
          .errors = {error_code::not_found, error_code::busy, error_code::unreachable, error_code::cannot_fork},
          .examples =
              {{R"({"into": "what-if"})",
                R"({"owner": "default", "child": null, "session": "what-if", "state": "new", "cell": null, "left_behind": []})"}},
          .build = [](arguments const& given) { return to_session(given, fork_session{given.text("into")}); }};
}

method reset_method() {
  return {
      .name = "session.reset",
      .sentence =
          "Ends the running cell as interrupted and the kernel with all it left running; the next cell gets a fresh kernel.",
      .params = with_session({}),
      .result = {"session row", false, "its row, once both are over"},
      .errors = {error_code::not_found},
      .examples =
          {{"{}",
            R"({"owner": "default", "child": null, "session": "default", "state": "new", "kernels": [], "cell": null, "queued": 0})"}},
      .build = [](arguments const& given) { return to_session(given, reset_session{}); }};
}

method close_method() {
  return {.name = "session.close",
          .sentence = "Resets the session, then removes it with all its records; a new one may bear its name.",
          .params = with_session({}),
          .result = {"session row", false, "its last row"},
          .errors = {error_code::not_found},
          .examples = {{"{}",
                        R"({"owner": "default", "child": null, "session": "default", "kernels": [], "cell": null, "queued": 0})"}},
          .build = [](arguments const& given) { return to_session(given, close_session{}); }};
}

method close_owner_method() {
  return {
      .name = "owner.close",
      .sentence =
          "Closes all sessions that the owner has, its children's too; with `child` those of that child alone, which releases it. "
          "Nobody else's are touched.",
      .params = {owner_param(), filter_param("child", "only this child's; null: the owner's own and those of all its children")},
      .result = {"closed owner", false, "what was ended"},
      .errors = {error_code::not_found},
      .examples = {{R"({"child": "delegate"})", R"({"sessions": 1, "kernels": 1})"}},
      .build = [](arguments const& given) {
        return to_supervisor(close_owner{given.text("owner"), given.optional_text("child")});
      }};
}

}  // namespace

std::vector<method> session_methods() {
  return {list_method(), get_method(), variables_method(), fork_method(), reset_method(), close_method(), close_owner_method()};
}

}  // namespace holdfast::front

#include "actors/front/method_groups.hpp"

namespace holdfast::front {

param owner_param() {
  return {.name = "owner",
          .type = param_type::id,
          .fallback = "default",
          .sentence = "whose session it is; owners see nothing of each other"};
}

param child_param() {
  return {.name = "child",
          .type = param_type::id,
          .sentence = "a delegated child of the owner, apart from it in both directions; null: none"};
}

param session_param() {
  return {
      .name = "session", .type = param_type::id, .fallback = "default", .sentence = "the conversation whose cells run in order"};
}

param limit_param() {
  return {.name = "limit",
          .type = param_type::integer,
          .fallback = 100,
          .least = 1,
          .most = 1000,
          .sentence = "how many items at most"};
}

param after_param() {
  return {.name = "after",
          .type = param_type::text,
          .least = 1,
          .most = 1024,
          .sentence = "a previous answer's `next`: go on behind it"};
}

param filter_param(std::string_view name, std::string_view sentence) {
  return {.name = name, .type = param_type::id, .sentence = sentence};
}

std::vector<param> with_session(std::vector<param> own) {
  std::vector<param> all{owner_param(), child_param(), session_param()};
  for (auto& each : own) all.push_back(std::move(each));
  return all;
}

session_key read_key(arguments const& given) { return {given.text("owner"), given.text("child"), given.text("session")}; }

call to_session(arguments const& given, decltype(session_call::what) what) {
  return session_call{{}, read_key(given), std::move(what)};
}

call to_supervisor(decltype(supervisor_call::what) what) { return supervisor_call{{}, std::move(what)}; }

}  // namespace holdfast::front

// notice.*: what a session must be told once.
#include "actors/front/method_groups.hpp"

namespace holdfast::front {
namespace {

method list_method() {
  return {.name = "notice.list",
          .sentence = "Lists notices that neither rode on a result nor were acked, oldest first.",
          .params = {owner_param(), filter_param("child", "only this child's"), filter_param("session", "only this session's"),
                     limit_param(), after_param()},
          .result = {"listed notice", true, "the notices"},
          .errors = {},
          .examples = {{"{}", R"({"items": [], "next": null})"}},
          .build = [](arguments const& given) {
            return to_supervisor(list_notices{given.text("owner"), given.optional_text("child"), given.optional_text("session"),
                                              static_cast<std::size_t>(given.integer("limit")), given.text("after")});
          }};
}

method ack_method() {
  return {.name = "notice.ack",
          .sentence = "Takes notices as told: they ride on no later result.",
          .params = {owner_param(),
                     {.name = "ids", .type = param_type::ids, .required = true, .most = 1000, .sentence = "the notices' ids"}},
          .result = {"acked notices", false, "how many of them there were"},
          .errors = {},
          .examples = {{R"({"ids": ["n-01KGA5DT00000000000000000N"]})", R"({"acked": 0})"}},
          .build = [](arguments const& given) {
            ack_notices ack;
            ack.owner = given.text("owner");
            for (auto& id : given.list("ids")) ack.ids.emplace_back(std::move(id));
            return to_supervisor(std::move(ack));
          }};
}

}  // namespace

std::vector<method> notice_methods() { return {list_method(), ack_method()}; }

}  // namespace holdfast::front

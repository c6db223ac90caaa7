#include "actors/front/methods.hpp"

#include <algorithm>
#include <unordered_map>

#include "actors/front/method_groups.hpp"
#include "actors/front/shown.hpp"

namespace holdfast::front {

std::vector<method> const& methods() {
  static std::vector<method> const table = [] {
    std::vector<method> all;
    for (auto* group : {cell_methods, kernel_methods, session_methods, job_methods, notice_methods, gateway_methods})
      for (auto& each : group()) all.push_back(std::move(each));
    return all;
  }();
  return table;
}

method const* find_method(std::string_view name) {
  static auto const index = [] {
    std::unordered_map<std::string_view, method const*> by_name;
    for (auto const& each : methods()) by_name.emplace(each.name, &each);
    return by_name;
  }();
  auto const found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

result<call> read_call(std::string_view name, boost::json::object const& params) {
  auto const* const called = find_method(name);
  if (called == nullptr)
    return fail(error_code::unknown_method, "unknown method " + shown(name) + "; rpc.discover lists the methods");
  for (auto const& given : params) {
    auto const key = std::string_view(given.key());
    auto const described =
        std::find_if(called->params.begin(), called->params.end(), [&](param const& each) { return each.name == key; });
    if (described == called->params.end()) return refuse_unknown(name, called->params, key);
    if (auto checked = check_param(name, *described, given.value()); !checked) return tl::unexpected(std::move(checked.error()));
  }
  for (auto const& each : called->params) {
    if (each.required && !params.contains(each.name)) return refuse_missing(name, each);
  }
  return called->build(arguments(called->params, params));
}

std::vector<error_code> const& common_errors() {
  static std::vector<error_code> const codes{error_code::invalid_params, error_code::internal,      error_code::busy,
                                             error_code::store_failed,   error_code::shutting_down, error_code::store_full};
  return codes;
}

}  // namespace holdfast::front

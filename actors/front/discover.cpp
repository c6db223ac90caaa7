// What rpc.discover answers: the method table as JSON.
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "actors/front/methods.hpp"
#include "actors/front/objects.hpp"

namespace holdfast::front {
namespace {

namespace json = boost::json;

json::object describe(param const& described) {
  json::object out;
  out["name"] = described.name;
  out["type"] = json_type(described.type);
  out["required"] = described.required;
  if (!described.required) out["default"] = described.fallback;
  if (auto limits = limits_of(described); !limits.empty()) out["limits"] = limits;
  if (!described.words.empty()) {
    json::array words;
    for (auto word : described.words) words.emplace_back(word);
    out["words"] = std::move(words);
  }
  out["sentence"] = described.sentence;
  return out;
}

json::object describe(error_code code) {
  json::object out;
  out["code"] = static_cast<int>(code);
  out["kind"] = to_string(code);
  return out;
}

json::object describe(method const& described) {
  json::object out;
  out["name"] = described.name;
  out["sentence"] = described.sentence;
  json::array params, errors;
  for (auto const& each : described.params) params.push_back(describe(each));
  for (auto code : described.errors) errors.push_back(describe(code));
  out["params"] = std::move(params);
  out["result"] = described.result;
  out["errors"] = std::move(errors);
  return out;
}

json::array describe(std::vector<field> const& fields) {
  json::array out;
  for (auto const& each : fields) out.push_back(json::object{{"name", each.name}, {"sentence", each.sentence}});
  return out;
}

json::object describe_all() {
  json::array all_methods, objects, notifications, errors;
  for (auto const& each : methods()) all_methods.push_back(describe(each));
  for (auto const& each : described_objects())
    objects.push_back(json::object{{"name", each.name}, {"fields", describe(each.fields)}});
  for (auto const& each : described_notifications())
    notifications.push_back(json::object{{"method", each.method}, {"sentence", each.when}, {"params", describe(each.params)}});
  for (auto const& each : described_errors()) {
    auto out = describe(each.code);
    out["retry"] = is_retryable(each.code);
    out["sentence"] = each.sentence;
    errors.push_back(std::move(out));
  }
  json::object all;
  all["protocol"] = "1.0";
  all["methods"] = std::move(all_methods);
  all["objects"] = std::move(objects);
  all["notifications"] = std::move(notifications);
  all["errors"] = std::move(errors);
  return all;
}

}  // namespace

std::string const& discover_text() {
  static std::string const text = json::serialize(describe_all());
  return text;
}

}  // namespace holdfast::front

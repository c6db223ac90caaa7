// What rpc.discover answers: the method table as JSON.
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "actors/base/version.hpp"
#include "actors/front/methods.hpp"
#include "actors/front/objects.hpp"

namespace holdfast::front {
namespace {

namespace json = boost::json;

json::array describe(std::vector<std::string_view> const& words) {
  json::array out;
  for (auto word : words) out.emplace_back(word);
  return out;
}

json::object describe(param const& described) {
  json::object out;
  out["name"] = described.name;
  out["type"] = json_type(described.type);
  out["required"] = described.required;
  out["default"] = described.fallback;
  out["limits"] = limits_of(described);
  out["words"] = describe(described.words);
  out["sentence"] = described.sentence;
  return out;
}

json::object describe(field const& described) {
  json::object out;
  out["name"] = described.name;
  out["type"] = json_type(described.type);
  out["of"] = described.of.empty() ? json::value() : json::value(described.of);
  out["null"] = described.is_nullable;
  out["optional"] = described.is_optional;
  out["words"] = describe(described.words);
  out["sentence"] = described.sentence;
  return out;
}

json::object describe(error_code code) {
  json::object out;
  out["code"] = static_cast<int>(code);
  out["kind"] = to_string(code);
  return out;
}

json::object describe(answer_description const& described) {
  json::object out;
  out["object"] = described.object;
  out["list"] = described.is_list;
  out["sentence"] = described.sentence;
  return out;
}

json::object describe(method const& described);
json::object describe(object_description const& described);
json::object describe(notification_description const& described);
json::object describe(event_description const& described);
json::object describe(error_description const& described);

template <class Described>
json::array describe_each(std::vector<Described> const& all) {
  json::array out;
  for (auto const& each : all) out.push_back(describe(each));
  return out;
}

json::object describe(method const& described) {
  json::object out;
  out["name"] = described.name;
  out["sentence"] = described.sentence;
  out["params"] = describe_each(described.params);
  out["result"] = describe(described.result);
  out["errors"] = describe_each(described.errors);
  return out;
}

json::object describe(object_description const& described) {
  return {{"name", described.name}, {"fields", describe_each(described.fields)}};
}

json::object describe(notification_description const& described) {
  return {{"method", described.method}, {"sentence", described.when}, {"params", describe_each(described.params)}};
}

json::object describe(event_description const& described) {
  return {{"kind", described.kind}, {"sentence", described.when}, {"details", describe_each(described.details)}};
}

json::object describe(error_description const& described) {
  auto out = describe(described.code);
  out["retry"] = is_retryable(described.code);
  out["sentence"] = described.sentence;
  return out;
}

json::object describe_all() {
  json::object all;
  all["protocol"] = client_protocol;
  all["methods"] = describe_each(methods());
  all["common_errors"] = describe_each(common_errors());
  all["objects"] = describe_each(described_objects());
  all["notifications"] = describe_each(described_notifications());
  all["events"] = describe_each(described_events());
  all["errors"] = describe_each(described_errors());
  return all;
}

}  // namespace

std::string const& discover_text() {
  static std::string const text = json::serialize(describe_all());
  return text;
}

}  // namespace holdfast::front

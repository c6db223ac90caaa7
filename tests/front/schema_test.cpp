// The schema is whole: what it refers to is there, what is there is referred to, and the page's examples keep to it.
// That real answers keep to it is tests/end_to_end/test_protocol_schema.py's.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include <boost/json/parse.hpp>

#include "actors/front/methods.hpp"
#include "actors/front/objects.hpp"

namespace holdfast::front {
namespace {

namespace json = boost::json;

object_description const* find_object(std::string_view name) {
  auto const& all = described_objects();
  auto const found = std::find_if(all.begin(), all.end(), [&](auto const& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

bool is_plain(std::string_view type) { return type == "string" || type == "integer" || type == "boolean" || type == "any"; }

/// Notes every object that these fields refer to, and those that it refers to.
void follow(std::vector<field> const& fields, std::set<std::string_view>& referred) {
  std::set<std::string_view> names;
  for (auto const& each : fields) {
    INFO(each.name);
    CHECK(names.insert(each.name).second);
    if (each.of.empty()) {
      CHECK((each.type != field_type::object && each.type != field_type::list && each.type != field_type::map));
    } else if (!is_plain(each.of)) {
      auto const* const object = find_object(each.of);
      REQUIRE(object != nullptr);
      if (referred.insert(each.of).second) follow(object->fields, referred);
    } else {
      CHECK(each.type != field_type::object);
    }
  }
}

/// The example has no field that is not described, at any depth.
void check_example(std::string_view object, json::object const& example) {
  auto const& fields = find_object(object)->fields;
  for (auto const& member : example) {
    auto const name = std::string_view(member.key());
    INFO(object << "." << name);
    auto const described = std::find_if(fields.begin(), fields.end(), [&](auto const& each) { return each.name == name; });
    REQUIRE(described != fields.end());
    if (find_object(described->of) == nullptr) continue;
    if (auto const* inner = member.value().if_object()) check_example(described->of, *inner);
    if (auto const* items = member.value().if_array())
      for (auto const& item : *items) check_example(described->of, item.as_object());
  }
}

TEST_CASE("every object of the schema is there and is sent by something") {
  std::set<std::string_view> referred{"error"};  // the answer of any method
  follow(find_object("error")->fields, referred);
  for (auto const& each : methods()) {
    INFO(each.name);
    if (is_plain(each.result.object)) continue;
    REQUIRE(find_object(each.result.object) != nullptr);
    referred.insert(each.result.object);
    follow(find_object(each.result.object)->fields, referred);
  }
  for (auto const& each : described_notifications()) follow(each.params, referred);
  for (auto const& each : described_events()) follow(each.details, referred);

  std::set<std::string_view> described;
  for (auto const& each : described_objects()) CHECK(described.insert(each.name).second);
  CHECK(described == referred);
}

TEST_CASE("every error is named by a method, or is one of any method or of no method at all") {
  std::set<error_code> named{error_code::parse_error, error_code::invalid_request, error_code::unknown_method};
  named.insert(common_errors().begin(), common_errors().end());
  for (auto const& each : methods()) named.insert(each.errors.begin(), each.errors.end());

  std::set<error_code> described;
  for (auto const& each : described_errors()) described.insert(each.code);

  CHECK(described == named);
}

TEST_CASE("run names every error that nothing but an acceptance can have") {
  auto const& errors = find_method("run")->errors;

  for (auto code : {error_code::at_capacity, error_code::queue_full, error_code::start_failed, error_code::kernel_changed})
    CHECK(std::find(errors.begin(), errors.end(), code) != errors.end());
}

TEST_CASE("the examples of the table show described fields only") {
  for (auto const& each : methods())
    for (auto const& example : each.examples) {
      INFO(each.name);
      auto const parsed = json::parse({example.result.data(), example.result.size()});
      if (each.result.object == "string") {
        CHECK(parsed.is_string());
        continue;
      }
      auto const& shown = parsed.as_object();
      if (!each.result.is_list) {
        check_example(each.result.object, shown);
        continue;
      }
      for (auto const& item : shown.at("items").as_array()) check_example(each.result.object, item.as_object());
    }
}

}  // namespace
}  // namespace holdfast::front

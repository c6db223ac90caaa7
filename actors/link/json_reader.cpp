#include "actors/link/json_reader.hpp"

#include <new>

#include <boost/json/parser.hpp>

#include "actors/link/frame.hpp"

namespace holdfast::link {

namespace json = boost::json;

namespace {

/// Trees of real messages take less than the text plus this; strings with escapes are held twice while they grow.
constexpr std::size_t budget_floor = 64 << 10;
constexpr std::size_t budget_per_byte = 6;

std::string_view kind_name(json::value const& value) {
  switch (value.kind()) {
    case json::kind::null: return "null";
    case json::kind::bool_: return "a truth value";
    case json::kind::int64:
    case json::kind::uint64: return "an integer";
    case json::kind::double_: return "a fraction";
    case json::kind::string: return "a text";
    case json::kind::array: return "a list";
    case json::kind::object: return "an object";
  }
  return "unknown";
}

}  // namespace

void json_fields::fail(std::string_view key, std::string_view found, std::string_view wanted) {
  if (failed()) return;
  problem_.append("cannot read ").append(what_).append(": field \"").append(key).append("\" is ");
  problem_.append(found).append(", wanted ").append(wanted);
}

json::value const* json_fields::required(std::string_view key, std::string_view wanted) {
  if (failed()) return nullptr;
  auto const* value = object_.if_contains({key.data(), key.size()});
  if (!value) fail(key, "missing", wanted);
  return value;
}

json::value const* json_fields::optional(std::string_view key) const {
  auto const* value = object_.if_contains({key.data(), key.size()});
  return value && !value->is_null() ? value : nullptr;
}

std::string json_fields::text(std::string_view key) {
  auto const* value = required(key, "a text");
  if (!value) return {};
  if (auto const* found = value->if_string()) return {found->data(), found->size()};
  fail(key, kind_name(*value), "a text");
  return {};
}

std::optional<std::string> json_fields::optional_text(std::string_view key) {
  if (!optional(key)) return std::nullopt;
  return text(key);
}

std::uint64_t json_fields::number(std::string_view key) {
  constexpr auto wanted = "an integer from 0 to 9223372036854775807";
  auto const* value = required(key, wanted);
  if (!value) return 0;
  auto const* found = value->if_int64();  // Boost.JSON uses uint64 only for what does not fit here
  if (found && *found >= 0) return static_cast<std::uint64_t>(*found);
  fail(key, found ? "negative" : value->is_uint64() ? "too large" : kind_name(*value), wanted);
  return 0;
}

std::int64_t json_fields::integer(std::string_view key) {
  auto const* value = required(key, "an integer of 64 bits");
  if (!value) return 0;
  if (auto const* found = value->if_int64()) return *found;
  fail(key, value->is_uint64() ? "too large" : kind_name(*value), "an integer of 64 bits");
  return 0;
}

std::optional<std::int64_t> json_fields::optional_integer(std::string_view key) {
  if (!optional(key)) return std::nullopt;
  return integer(key);
}

bool json_fields::flag(std::string_view key) {
  auto const* value = required(key, "true or false");
  if (!value) return false;
  if (auto const* found = value->if_bool()) return *found;
  fail(key, kind_name(*value), "true or false");
  return false;
}

bool json_fields::flag_or(std::string_view key, bool fallback) {
  return object_.if_contains({key.data(), key.size()}) ? flag(key) : fallback;
}

std::uint64_t json_fields::number_or(std::string_view key, std::uint64_t fallback) {
  return object_.if_contains({key.data(), key.size()}) ? number(key) : fallback;
}

json::array const* json_fields::list(std::string_view key) {
  auto const* value = required(key, "a list");
  if (!value) return nullptr;
  if (auto const* found = value->if_array()) return found;
  fail(key, kind_name(*value), "a list");
  return nullptr;
}

json::object const* json_fields::object(std::string_view key) {
  auto const* value = required(key, "an object");
  if (!value) return nullptr;
  if (auto const* found = value->if_object()) return found;
  fail(key, kind_name(*value), "an object");
  return nullptr;
}

json::object const* json_fields::optional_object(std::string_view key) { return optional(key) ? object(key) : nullptr; }

json_document::json_document(std::string_view text)
    : far_(budget_floor + budget_per_byte * text.size()),
      memory_(near_.data(), near_.size(), &far_),
      root_(json::storage_ptr{&memory_}) {
  json::parse_options options;
  options.max_depth = max_depth;
  try {
    unsigned char stack[2048];
    json::parser parser{json::storage_ptr{&far_}, options, stack, sizeof(stack)};
    parser.reset(json::storage_ptr{&memory_});
    json::error_code error;
    parser.write({text.data(), text.size()}, error);
    if (error) {
      problem_ = "cannot parse JSON: " + error.message();
      return;
    }
    root_ = parser.release();
  } catch (std::bad_alloc const&) {
    problem_ = "cannot parse JSON: too many values for " + std::to_string(text.size()) + " bytes of text";
    return;
  } catch (std::exception const& failure) {
    problem_ = std::string{"cannot parse JSON: "} + failure.what();
    return;
  }
  if (!root_.is_object()) problem_ = std::string{"cannot parse JSON: found "}.append(kind_name(root_)) + ", wanted an object";
}

void* json_document::budgeted_resource::do_allocate(std::size_t bytes, std::size_t align) {
  if (bytes > left_) throw std::bad_alloc{};
  void* memory = ::operator new (bytes, std::align_val_t{align});
  left_ -= bytes;
  return memory;
}

void json_document::budgeted_resource::do_deallocate(void* memory, std::size_t bytes, std::size_t align) {
  // Boost.JSON 1.81 gives its blocks back with a smaller size than it asked for: no sized delete, and a budget that errs low.
  left_ += bytes;
  ::operator delete (memory, std::align_val_t{align});
}

}  // namespace holdfast::link

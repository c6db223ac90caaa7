// One flat JSON object as text, field by field. The wire's hot path: no tree is built.
// Always makes valid UTF-8 JSON; keys are ours and are not escaped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::link {

/// Appends `text` as a JSON string; bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);
/// What append_json_string adds for it between the quotes.
std::size_t json_string_bytes(std::string_view text);

class json_writer {
 public:
  /// Starts an object whose first field is `type`, unless that is empty. `expected_bytes` saves reallocations.
  explicit json_writer(std::string_view type = {}, std::size_t expected_bytes = 0);

  json_writer& text(std::string_view key, std::string_view value);
  json_writer& number(std::string_view key, std::uint64_t value);
  json_writer& integer(std::string_view key, std::int64_t value);
  json_writer& flag(std::string_view key, bool value);
  json_writer& null(std::string_view key);
  /// `value` is JSON text already.
  json_writer& json(std::string_view key, std::string_view value);
  /// Ends the object and hands it out; the writer is spent.
  std::string take();

 private:
  void begin(std::string_view key);

  /// The object up to its last field, without the closing brace.
  std::string out_ = "{";
};

/// A JSON array of what `write` makes of each item: JSON text.
template <class Items, class Write>
std::string json_list(Items const& items, Write write) {
  std::string out = "[";
  for (auto const& item : items) {
    if (out.size() > 1) out += ',';
    out += write(item);
  }
  return out += ']';
}

}  // namespace holdfast::link

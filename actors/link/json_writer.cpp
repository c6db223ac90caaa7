#include "actors/link/json_writer.hpp"

#include <charconv>
#include <utility>

#include "actors/link/utf8.hpp"

namespace holdfast::link {

namespace {

constexpr char hex_digits[] = "0123456789abcdef";

bool is_plain(unsigned char byte) { return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\'; }

void append_escaped(std::string& out, unsigned char byte) {
  switch (byte) {
    case '"': out += "\\\""; break;
    case '\\': out += "\\\\"; break;
    case '\n': out += "\\n"; break;
    case '\r': out += "\\r"; break;
    case '\b': out += "\\b"; break;
    case '\f': out += "\\f"; break;
    case '\t': out += "\\t"; break;
    default:
      out += "\\u00";
      out += hex_digits[byte >> 4];
      out += hex_digits[byte & 0xf];
  }
}

template <class Number>
void append_number(std::string& out, Number value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

}  // namespace

std::size_t json_string_bytes(std::string_view text) {
  auto bytes = text.size();
  for (auto const c : text) bytes += static_cast<unsigned char>(c) < 0x20 ? 5 : c == '"' || c == '\\' ? 1 : 0;
  return bytes;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t at = 0;
  while (at < text.size()) {
    auto end = at;
    while (end < text.size() && is_plain(static_cast<unsigned char>(text[end]))) ++end;
    out.append(text, at, end - at);
    if (end == text.size()) break;
    if (static_cast<unsigned char>(text[end]) < 0x80) {
      append_escaped(out, static_cast<unsigned char>(text[end]));
      at = end + 1;
    } else if (auto const length = utf8_length(text.substr(end))) {
      out.append(text, end, length);
      at = end + length;
    } else {
      out += "\xef\xbf\xbd";
      at = end + 1;
    }
  }
  out += '"';
}

json_writer::json_writer(std::string_view type, std::size_t expected_bytes) {
  out_.reserve(expected_bytes);
  if (!type.empty()) text("type", type);
}

void json_writer::begin(std::string_view key) {
  if (out_.size() > 1) out_ += ',';
  out_ += '"';
  out_ += key;
  out_ += "\":";
}

json_writer& json_writer::text(std::string_view key, std::string_view value) {
  begin(key);
  append_json_string(out_, value);
  return *this;
}

json_writer& json_writer::number(std::string_view key, std::uint64_t value) {
  begin(key);
  append_number(out_, value);
  return *this;
}

json_writer& json_writer::integer(std::string_view key, std::int64_t value) {
  begin(key);
  append_number(out_, value);
  return *this;
}

json_writer& json_writer::flag(std::string_view key, bool value) {
  begin(key);
  out_ += value ? "true" : "false";
  return *this;
}

json_writer& json_writer::null(std::string_view key) {
  begin(key);
  out_ += "null";
  return *this;
}

json_writer& json_writer::json(std::string_view key, std::string_view value) {
  begin(key);
  out_ += value;
  return *this;
}

std::string json_writer::take() {
  out_ += '}';
  return std::move(out_);
}

}  // namespace holdfast::link

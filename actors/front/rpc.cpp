#include "actors/front/rpc.hpp"

#include <algorithm>
#include <charconv>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "actors/front/line_tree.hpp"
#include "actors/front/shown.hpp"

namespace holdfast::front {
namespace {

namespace json = boost::json;

tl::unexpected<rejected> reject(std::string id, error_code code, std::string message) {
  return tl::unexpected(rejected{std::move(id), error{code, std::move(message), {}}});
}

/// The id as it goes back, or nothing when there is no usable one.
std::string id_text(json::object const& envelope, std::string const& number) {
  if (!number.empty()) return number.size() <= max_request_id_bytes ? number : std::string();
  auto const* id = envelope.if_contains("id");
  if (id == nullptr || !id->is_string() || id->get_string().size() > max_request_id_bytes) return {};
  return json::serialize(*id);
}

std::string describe_missing_id(json::object const& envelope) {
  auto const* id = envelope.if_contains("id");
  if (id == nullptr) return "a request needs an id: without one nobody could be told what became of it";
  if (id->is_string() || id->is_number())
    return "the id is longer than " + std::to_string(max_request_id_bytes) + " bytes; use a shorter one";
  return "the id is " + shown(*id) + ", wanted a number or a string";
}

constexpr std::size_t escape_size = 6;  // \uXXXX

/// The code unit of the escape that begins there; 0: none does.
unsigned unit_at(std::string_view text, std::size_t at) {
  auto const escape = text.substr(std::min(at, text.size()), escape_size);
  unsigned unit = 0;
  auto const is_whole =
      escape.size() == escape_size && escape.starts_with("\\u") &&
      std::from_chars(escape.data() + 2, escape.data() + escape_size, unit, 16).ptr == escape.data() + escape_size;
  return is_whole ? unit : 0;
}

/// Whose answer is it, if nothing but halves of surrogate pairs is wrong with the line? Python writes those for its strings.
std::string id_beside_surrogates(std::string_view line) {
  auto const is_high = [](unsigned unit) { return unit >= 0xd800 && unit < 0xdc00; };
  auto const is_low = [](unsigned unit) { return unit >= 0xdc00 && unit < 0xe000; };
  std::string mended(line);
  for (std::size_t at = mended.find('\\'); at < mended.size();) {
    auto const unit = unit_at(mended, at);
    auto const is_pair = is_high(unit) && is_low(unit_at(mended, at + escape_size));
    if (!is_pair && (is_high(unit) || is_low(unit))) mended.replace(at, escape_size, "\\ufffd");
    at = mended.find('\\', at + (is_pair ? 2 * escape_size : 2));
  }
  auto const tree = parse_tree(mended);
  auto const* envelope = tree ? tree->root.if_object() : nullptr;
  return envelope ? id_text(*envelope, tree->id_number) : std::string();
}

}  // namespace

tl::expected<request, rejected> parse_request(std::string_view line) {
  auto tree = parse_tree(line);
  if (!tree) {
    auto const id = id_beside_surrogates(line);
    if (id.empty()) return reject("null", error_code::parse_error, "cannot read the line as JSON: " + tree.error());
    return reject(id, error_code::parse_error,
                  "cannot read the line as JSON: half of a surrogate pair (\\ud800 to \\udfff) stands alone in it; send text that "
                  "is Unicode");
  }
  if (tree->root.is_array()) return reject("null", error_code::invalid_request, "batches are refused; send one request a line");
  auto* envelope = tree->root.if_object();
  if (envelope == nullptr)
    return reject("null", error_code::invalid_request,
                  "the line is " + shown(tree->root) + ", wanted an object with jsonrpc, id, method and params");

  auto id = id_text(*envelope, tree->id_number);
  if (id.empty()) return reject("null", error_code::invalid_request, describe_missing_id(*envelope));
  request found;
  bool versioned = false;
  for (auto& member : *envelope) {
    auto const key = std::string_view(member.key());
    auto& value = member.value();
    if (key == "id") continue;
    if (key == "jsonrpc") {
      versioned = value.is_string() && value.get_string() == "2.0";
    } else if (key == "method") {
      if (!value.is_string()) return reject(id, error_code::invalid_request, "the method is " + shown(value) + ", wanted a string");
      found.method = std::string_view(value.get_string());
    } else if (key == "params") {
      if (value.is_array())
        return reject(id, error_code::invalid_params, "params are given by position, wanted by name: an object");
      if (!value.is_object()) return reject(id, error_code::invalid_request, "params is " + shown(value) + ", wanted an object");
      found.params = std::move(value.get_object());
    } else {
      return reject(id, error_code::invalid_request,
                    "unknown member " + shown(key) + "; a request has jsonrpc, id, method and params");
    }
  }
  if (!versioned) return reject(id, error_code::invalid_request, R"(jsonrpc is missing or another version, wanted "2.0")");
  if (found.method.empty()) return reject(id, error_code::invalid_request, "the method is missing; rpc.discover lists the methods");
  found.id = std::move(id);
  return found;
}

std::string answer_line(std::string_view id, std::string_view result) {
  std::string line;
  line.reserve(40 + id.size() + result.size());
  line += R"({"jsonrpc":"2.0","id":)";
  line += id;
  line += R"(,"result":)";
  line += result;
  line += "}\n";
  return line;
}

std::string error_line(std::string_view id, error const& problem) {
  std::string line = R"({"jsonrpc":"2.0","id":)";
  line += id;
  line += R"(,"error":)";
  line += json::serialize(to_json(problem));
  line += "}\n";
  return line;
}

std::string notification_line(std::string_view method, std::string_view params) {
  std::string line;
  line.reserve(44 + method.size() + params.size());
  line += R"({"jsonrpc":"2.0","method":")";
  line += method;
  line += R"(","params":)";
  line += params;
  line += "}\n";
  return line;
}

}  // namespace holdfast::front

#include "actors/front/line_tree.hpp"

#include <limits>
#include <set>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/error.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value_stack.hpp>

#include "actors/front/rpc.hpp"
#include "actors/front/shown.hpp"

namespace holdfast::front {
namespace {

namespace json = boost::json;
using boost::system::error_code;  // hides our own: this file speaks to the parser only

/// What Boost's own parser does, plus what it does not look at.
class tree_builder {
 public:
  static constexpr std::size_t max_object_size = max_line_values;
  static constexpr std::size_t max_array_size = max_line_values;
  static constexpr std::size_t max_key_size = 4096;
  static constexpr std::size_t max_string_size = std::numeric_limits<std::size_t>::max();

  explicit tree_builder(bool find_duplicate) : find_duplicate_(find_duplicate), stack_({}, near_, sizeof near_) { stack_.reset(); }

  json::value release() { return stack_.release(); }
  std::string take_id_number() { return std::move(id_number_); }
  std::string const& duplicate() const { return duplicate_; }
  std::size_t keys() const { return keys_; }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) {
    ++depth_;
    if (find_duplicate_) names_.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t size, error_code& code) {
    --depth_;
    if (find_duplicate_) names_.pop_back();
    stack_.push_object(size);
    return count(code);
  }
  bool on_array_begin(error_code&) {
    ++depth_;
    if (find_duplicate_) names_.emplace_back();
    return true;
  }
  bool on_array_end(std::size_t size, error_code& code) {
    --depth_;
    if (find_duplicate_) names_.pop_back();
    stack_.push_array(size);
    return count(code);
  }
  bool on_key_part(json::string_view part, std::size_t, error_code&) {
    key_ += std::string_view(part);
    stack_.push_chars(part);
    return true;
  }
  bool on_key(json::string_view part, std::size_t, error_code& code) {
    key_ += std::string_view(part);
    stack_.push_key(part);
    at_id_ = depth_ == 1 && key_ == "id";
    if (find_duplicate_ && duplicate_.empty() && !names_.back().insert(key_).second) duplicate_ = key_;
    key_.clear();
    ++keys_;
    return count(code);
  }
  bool on_string_part(json::string_view part, std::size_t, error_code&) {
    stack_.push_chars(part);
    return true;
  }
  bool on_string(json::string_view part, std::size_t, error_code& code) {
    stack_.push_string(part);
    return count(code);
  }
  bool on_number_part(json::string_view part, error_code&) {
    number_ += std::string_view(part);
    return true;
  }
  bool on_int64(std::int64_t number, json::string_view part, error_code& code) {
    stack_.push_int64(number);
    return on_number(part, code);
  }
  bool on_uint64(std::uint64_t number, json::string_view part, error_code& code) {
    stack_.push_uint64(number);
    return on_number(part, code);
  }
  bool on_double(double number, json::string_view part, error_code& code) {
    stack_.push_double(number);
    return on_number(part, code);
  }
  bool on_bool(bool value, error_code& code) {
    stack_.push_bool(value);
    return count(code);
  }
  bool on_null(error_code& code) {
    stack_.push_null();
    return count(code);
  }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }

 private:
  bool on_number(json::string_view part, error_code& code) {
    if (at_id_ && depth_ == 1) id_number_ = number_ + std::string(part);
    number_.clear();
    return count(code);
  }
  bool count(error_code& code) {
    if (++values_ <= max_line_values) return true;
    code = make_error_code(json::error::array_too_large);
    return false;
  }

  unsigned char near_[2048];  // the stack of a usual line never touches the heap
  bool find_duplicate_;
  json::value_stack stack_;
  std::size_t depth_ = 0;   // open objects and arrays
  std::size_t values_ = 0;  // values and keys so far
  std::size_t keys_ = 0;    // keys so far
  bool at_id_ = false;      // the value that follows belongs to the top level "id"
  std::string key_;         // the parts of the key being read
  std::string number_;      // the parts of the number being read
  std::string id_number_;
  std::vector<std::set<std::string>> names_;  // the keys of every open level, only while looking for the duplicate
  std::string duplicate_;
};

using line_parser = json::basic_parser<tree_builder>;

json::parse_options strict() {
  json::parse_options options;
  options.max_depth = max_line_depth;
  return options;
}

/// Keys that survived: Boost keeps the last of equal ones.
std::size_t count_keys(json::value const& value) {
  std::size_t keys = 0;
  if (auto const* object = value.if_object()) {
    keys += object->size();
    for (auto const& member : *object)
      if (member.value().is_structured()) keys += count_keys(member.value());
  } else if (auto const* array = value.if_array()) {
    for (auto const& item : *array)
      if (item.is_structured()) keys += count_keys(item);
  }
  return keys;
}

/// Only for the error's text: a second reading that remembers every key.
std::string name_duplicate(std::string_view line) {
  line_parser parser(strict(), true);
  error_code code;
  parser.write_some(false, line.data(), line.size(), code);
  return parser.handler().duplicate();
}

std::string describe(error_code const& code) {
  if (code == json::error::too_deep) return "nested deeper than " + std::to_string(max_line_depth) + " levels";
  if (code == json::error::array_too_large || code == json::error::object_too_large)
    return "more than " + std::to_string(max_line_values) + " values";
  return code.message();
}

}  // namespace

tl::expected<line_tree, std::string> parse_tree(std::string_view line) {
  line_parser parser(strict(), false);
  error_code code;
  auto const read = parser.write_some(false, line.data(), line.size(), code);
  if (code) return tl::unexpected("at byte " + std::to_string(read) + ": " + describe(code));
  if (read < line.size()) return tl::unexpected("at byte " + std::to_string(read) + ": text after the value");
  line_tree tree{parser.handler().release(), parser.handler().take_id_number()};
  if (count_keys(tree.root) != parser.handler().keys())
    return tl::unexpected("the key " + shown(name_duplicate(line)) + " stands twice in one object");
  return tree;
}

}  // namespace holdfast::front

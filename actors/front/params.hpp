// A param of a method: its description, the check of a given value against it, and typed access to what passed the check.
// Pure. It knows no method; the table (methods.hpp) does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "actors/base/errors.hpp"

namespace holdfast::front {

enum class param_type {
  text,     // a string of `least` to `most` bytes without NUL, save for code
  code,     // a string of at most `most` bytes
  id,       // 1 to 128 characters of [A-Za-z0-9._:-]
  word,     // one of `words`
  integer,  // `least` to `most`, or 0 with `or_zero`
  boolean,
  path,       // an absolute path
  variables,  // an object of strings: environment variables
  ids,        // a list of at most `most` ids
  names,      // a list of at most `most` names of functions: letters, digits and _, not a digit first
  word_list,  // a list of `words`
};
/// Such as "string" or "integer": the JSON type.
std::string_view json_type(param_type type);

struct param {
  std::string_view name;
  param_type type = param_type::text;
  bool required = false;
  boost::json::value fallback = nullptr;  // what it is when left out; null: nothing, and null may be given
  std::int64_t least = 0;
  std::int64_t most = 4096;
  bool or_zero = false;  // an integer may also be 0, for none, where `least` is more
  std::vector<std::string_view> words = {};
  error_code beyond = error_code::invalid_params;  // the error of a string or list longer than `most`
  std::string_view sentence = {};
};

/// Such as "1 to 1000" or "at most 1048576 bytes"; empty when the type says it all.
std::string limits_of(param const& described);

/// The same as the end of an error's text: "an integer from 1 to 1000".
std::string wanted_of(param const& described);

/// A param that the method does not have; the error names it and those that it has.
tl::unexpected<error> refuse_unknown(std::string_view method, std::vector<param> const& described, std::string_view name);
/// A required param that was left out; the error says what is wanted.
tl::unexpected<error> refuse_missing(std::string_view method, param const& described);
/// Whether the value may stand for the param. The error names param, found, wanted.
result<void> check_param(std::string_view method, param const& described, boost::json::value const& given);

/// Whether the text is an id that a client may give.
bool is_client_id(std::string_view text);

/// What was given, or the fallback. Only for params that the method describes, after the check; a name it does not have is a bug.
class arguments {
 public:
  arguments(std::vector<param> const& described, boost::json::object const& given) : described_(described), given_(given) {}

  std::string text(std::string_view name) const;
  std::optional<std::string> optional_text(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  std::optional<std::int64_t> optional_integer(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::map<std::string, std::string> variables(std::string_view name) const;
  std::vector<std::string> list(std::string_view name) const;
  /// Neither left out nor null.
  bool is_given(std::string_view name) const { return !value(name).is_null(); }

 private:
  boost::json::value const& value(std::string_view name) const;

  std::vector<param> const& described_;
  boost::json::object const& given_;
};

}  // namespace holdfast::front

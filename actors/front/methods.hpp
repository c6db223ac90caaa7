// The one table of methods: it is the schema that requests are checked against, what rpc.discover answers and what docs/protocol.md
// is written from. A method is described nowhere else. Collaborators: *_methods.cpp hold the rows, params.cpp checks values,
// messages.hpp is what a checked request becomes. Refused: anything that no row describes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <boost/json/object.hpp>

#include "actors/base/errors.hpp"
#include "actors/base/messages.hpp"
#include "actors/front/params.hpp"

namespace holdfast::front {

/// rpc.discover: the one request that this layer answers itself.
struct discover {};

/// A checked request. The session's or supervisor's call has no `from` yet.
using call = std::variant<session_call, supervisor_call, discover>;

/// A request and its answer as they are on the wire, JSON text. Ids and times in it stand for any other.
struct example {
  std::string_view params;
  std::string_view result;
};

/// What a method answers: the described object (objects.hpp), or a page of them.
struct answer_description {
  std::string_view object;
  bool is_list = false;  // {items, next}
  std::string_view sentence;
};

struct method {
  std::string_view name;
  std::string_view sentence;
  std::vector<param> params;
  answer_description result;
  std::vector<error_code> errors;                   // its own; any method may also answer `common_errors`
  std::vector<example> examples;                    // they work in the table's order on a fresh home
  call (*build)(arguments const& given) = nullptr;  // only called with checked arguments
};

/// In the order of docs/protocol.md.
std::vector<method> const& methods();
method const* find_method(std::string_view name);

/// Checks a request against the table. Errors: unknown_method, invalid_params (naming the param), too_large.
result<call> read_call(std::string_view name, boost::json::object const& params);

/// What any method may answer, having started nothing.
std::vector<error_code> const& common_errors();

/// The answer to rpc.discover.
std::string const& discover_text();
/// docs/protocol.md.
std::string protocol_markdown();

}  // namespace holdfast::front

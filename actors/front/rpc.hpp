// The line protocol, JSON-RPC 2.0: one line in, one request or one reason why it is none; and the lines that go back.
// Pure: text to values and values to text. It knows no method (methods.hpp) and no socket (unix_server.hpp).
// Refused: batches, positional params, requests without an id, duplicate keys, lone surrogates, NaN, more than 64 levels.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <tl/expected.hpp>

#include "actors/base/errors.hpp"

namespace holdfast::front {

constexpr std::size_t max_line_depth = 64;
/// Values and keys of one line together: a small text must not become a large tree ("[0,0,0,...").
constexpr std::size_t max_line_values = 100'000;
constexpr std::size_t max_request_id_bytes = 1024;

struct request {
  std::string id;  // as JSON text, a number verbatim; goes back with the answer
  std::string method;
  boost::json::object params;
};

/// Why a line is not a request, and the id to answer with: its own if it could be read, else null.
struct rejected {
  std::string id = "null";
  error problem;
};

/// Reads one line without its newline.
tl::expected<request, rejected> parse_request(std::string_view line);

/// The lines that go back, each with its newline. `result` and `params` are JSON text and are spliced in as they are.
std::string answer_line(std::string_view id, std::string_view result);
std::string error_line(std::string_view id, error const& problem);
std::string notification_line(std::string_view method, std::string_view params);

}  // namespace holdfast::front

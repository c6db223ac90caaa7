// A request to the far side and its answer as bytes (docs/wire.md, Relay). Pure: runs nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <tl/expected.hpp>

#include "actors/env/variables.hpp"
#include "actors/link/relay_link.hpp"

namespace holdfast::env {

/// The same for every request: neither code nor secrets are in it.
std::vector<std::string> relay_command(std::string const& python);

/// What goes to its standard input: the first steps, the head and the frames behind it.
std::string relay_input(boost::json::object const& head, std::string_view frames);

/// The head of a request that brings the program itself.
boost::json::object stage_request();

struct relay_reply {
  boost::json::object head;
  std::string frames;
};
/// Finds the answer to the request of that nonce in what the command wrote, whatever else is around it. The error says what was there.
tl::expected<relay_reply, std::string> read_reply(std::string_view output, std::string_view nonce);

/// A text of its head; empty when there is none.
std::string text_of(relay_reply const& reply, std::string_view key);

/// The answer to `carry`; the error is a text.
tl::expected<link::brought, std::string> read_brought(relay_reply reply);

/// Which variables of the far side its kernels get, for a `spawn`.
boost::json::object usual_variables();

}  // namespace holdfast::env

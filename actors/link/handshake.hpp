// The first two frames of a connection (docs/wire.md, Attach) as values: attach, and hello or refused.
// Strict: a handshake with a missing field or one of a wrong type is an error text, never a default.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tl/expected.hpp>

#include "storage/ids.hpp"
#include "storage/records.hpp"

namespace holdfast::link {

constexpr std::uint32_t protocol = 1;

struct attach {
  std::string kernel;             // the id of the kernel or nursery that is meant
  std::string token;              // 64 hex digits
  std::string home;               // the home's random id
  std::uint64_t incarnation = 0;  // how often the home's daemon was started
  std::uint64_t ack = 0;          // highest seq from the kernel that is recorded
  std::uint64_t grace_ms = 0;     // how long it lives with nothing attached
  std::uint32_t protocol = link::protocol;
};

/// A cell that the kernel has and is not done with.
struct open_cell {
  cell_id cell;
  std::uint64_t generation = 0;
};

struct hello {
  std::uint32_t protocol = link::protocol;
  std::string program;      // digest of the program that it runs
  std::uint64_t epoch = 0;  // successful attaches, this one included
  std::uint64_t ack = 0;    // highest seq that it has taken from any daemon of this home
  std::uint64_t first = 0;  // seq of the next frame that it will send; it has none older
  storage::process_identity process;
  bool ready = false;
  std::vector<open_cell> cells;
  std::uint64_t dropped = 0;  // output bytes that fell out of the journal unsent
  std::string python;         // sys.executable, as the interpreter itself says; empty when not said
};

struct refused {
  std::string reason;  // wrong_token, other_home, unsupported or bad_attach
  std::string message;
  std::uint32_t protocol = 0;  // of unsupported: the one that it speaks; 0: it does not say
};

std::string to_json(attach const& message);
std::string to_json(hello const& message);
std::string to_json(refused const& message);

/// What answers an attach. The error is a text such as `cannot read hello: field "ack" is negative, wanted ...`.
tl::expected<std::variant<hello, refused>, std::string> parse_hello(std::string_view payload);
tl::expected<attach, std::string> parse_attach(std::string_view payload);

}  // namespace holdfast::link

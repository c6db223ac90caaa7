// What a kernel actor needs of a link, whatever carries its frames: a socket, or commands that each run to their end.
// Collaborators: window (pure), the implementations socket_link and relay_link. Refuses to know what a frame means.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "actors/link/decoder.hpp"
#include "actors/link/handshake.hpp"

namespace holdfast::link {

/// The link cannot go on with this connection: close it and attach again.
struct broken {
  std::string reason;
};
/// Proof of absence, from where the process was.
struct gone {};

/// What arrived: frames are fresh ones only, in order.
using event = std::variant<hello, refused, frame, oversized, broken, gone>;

class transport {
 public:
  virtual ~transport() = default;

  /// A connection was begun and is not given up.
  virtual bool is_open() const = 0;
  /// hello has come on it.
  virtual bool is_attached() const = 0;
  /// Keeps the window for the next connection.
  virtual void close() = 0;

  /// Queues a payload and writes it as soon as the peer is attached. False: the window is full, nothing changed.
  virtual bool send(std::string payload) = 0;
  /// The effects of everything up to `seq` are recorded.
  virtual void record(std::uint64_t seq) = 0;
  /// A bare ack is to be written, as nothing else will carry it.
  virtual bool ack_due() const = 0;
  virtual void write_ack() = 0;
  /// The highest seq from the peer whose effects are recorded.
  virtual std::uint64_t recorded() const = 0;
};

}  // namespace holdfast::link

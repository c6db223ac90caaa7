// What is still to be written to one client, bounded: over one limit stream notifications are dropped and counted, over the other
// the client is given up. Pure: no socket, no JSON beyond what stream_facts reads. Collaborator: unix_server, which takes chunks
// out as the client reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "actors/base/defaults.hpp"

namespace holdfast::front {

/// What the params of a cell.stream notification say, read without building a tree: they may be many and large.
struct stream_facts {
  std::string cell;              // owner, child, session and cell, as JSON texts: names the stream
  std::uint64_t text_bytes = 0;  // of the output in it, unescaped
  std::uint64_t lost_bytes = 0;  // its own dropped_bytes: lost before it came here
};
stream_facts read_stream_facts(std::string_view params);

/// The params with `dropped` added to their last member, dropped_bytes, which is made if it is missing.
std::string with_dropped_bytes(std::string_view params, std::uint64_t dropped);

class outbox {
 public:
  struct limits {
    std::size_t stream = defaults::client_stream_limit;
    std::size_t all = defaults::client_limit;
  };
  enum class verdict { queued, dropped, overflow };

  outbox() = default;
  explicit outbox(limits within) : limits_(within) {}

  /// Queues a line that must arrive. `overflow`: the client is to be given up; nothing was queued.
  verdict push(std::string line);
  /// Queues the line of one cell.stream notification, or drops it and counts its text for the next one of its stream.
  verdict push_stream(std::string_view params);

  bool empty() const { return lines_.empty(); }
  std::size_t queued_bytes() const { return queued_bytes_; }
  /// The first bytes that are due, at most `limit`, as one piece; valid until the next call of push or consume.
  std::string_view front(std::size_t limit) const;
  /// The first bytes have been handed on.
  void consume(std::size_t bytes);

 private:
  limits limits_;
  std::deque<std::string> lines_;
  std::size_t offset_ = 0;        // of the first line, handed on already
  std::size_t queued_bytes_ = 0;  // of all lines without that offset; never above limits_.all
  std::map<std::string, std::uint64_t>
      dropped_;  // by stream: output bytes that its next notification must tell; bounded by cells streamed
};

}  // namespace holdfast::front

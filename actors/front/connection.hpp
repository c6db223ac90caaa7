// One client of the unix server: what it has sent, what it is owed, what it still waits for. Its socket belongs to CAF's scribe;
// this writes to it directly while the scribe has nothing to write, which spares a turn of the event loop for every answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>

#include <caf/io/broker.hpp>

#include "actors/front/line_assembler.hpp"
#include "actors/front/outbox.hpp"

namespace holdfast::front {

class connection {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  connection(caf::io::broker* self, caf::io::connection_handle handle, std::uint64_t connection_number, outbox::limits queue,
             time_point now);

  std::uint64_t const number;  // never reused, unlike the handle
  line_assembler lines;
  time_point last_heard_at;
  std::unordered_map<std::uint64_t, std::string> open_requests;  // our number of a request to the client's id of it
  std::uint64_t last_request = 0;

  /// Queues a line and writes what the socket takes. False: over its limit, it has been cut off.
  bool send(std::string line);
  /// The same for a cell.stream notification, which may be dropped instead.
  outbox::verdict send_stream(std::string_view params);
  /// The scribe has written; `remaining` bytes of what it was handed are left.
  void on_written(std::size_t remaining);

  /// Ends it now. The broker gets connection_closed_msg later; until then it takes and sends nothing.
  void cut_off();
  bool is_cut_off() const { return is_cut_off_; }
  bool has_written_all() const { return handed_ == 0 && queue_.empty(); }

 private:
  void write_out();

  caf::io::broker* self_;
  caf::io::connection_handle handle_;
  int fd_;  // the scribe's own
  outbox queue_;
  std::size_t handed_ =
      0;  // bytes that the scribe has and has not written, at most defaults::scribe_chunk; only 0 allows to write directly
  bool is_cut_off_ = false;
};

}  // namespace holdfast::front

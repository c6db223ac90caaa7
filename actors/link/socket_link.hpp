// One link over a unix socket inside a broker: moves bytes between a scribe, a decoder and a window, and keeps what is handed to
// the scribe bounded. What the socket takes at once is written directly, which spares a turn of the event loop a frame. The broker decides when to connect, what a frame means and when its effects are recorded.
// Collaborators: frame, decoder, window, handshake. Refuses to queue beyond the window's limits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <caf/io/broker.hpp>

#include "actors/base/unique_fd.hpp"
#include "actors/link/transport.hpp"
#include "actors/link/window.hpp"

namespace holdfast::link {

class socket_link final : public transport {
 public:
  /// `recorded`: the highest seq from the peer whose effects are recorded.
  socket_link(caf::io::broker* self, std::uint64_t recorded) : self_(self), recorded_(recorded) {}

  /// Takes over a connected socket and says attach on it.
  void open(unique_fd socket, attach const& message);
  bool is_open() const override { return !handle_.invalid(); }
  bool is_attached() const override { return attached_; }
  bool is(caf::io::connection_handle handle) const { return is_open() && handle == handle_; }

  /// Handles what the broker got for this connection.
  std::vector<event> on_data(std::vector<char> const& bytes);
  void on_transferred(std::uint64_t remaining);
  /// The scribe is gone: keeps the window for the next connection.
  void on_closed();
  void close() override;

  bool send(std::string payload) override;
  void record(std::uint64_t seq) override;
  bool ack_due() const override { return attached_ && window_.ack_due(); }
  void write_ack() override;

  std::uint64_t recorded() const override { return recorded_; }
  std::size_t buffered() const { return decoder_.buffered() + window_.unacked_bytes(); }

 private:
  void on_hello(hello const& message);
  void pump();
  void write(std::uint64_t seq, std::string_view payload);
  void hand_rest_to_scribe();

  caf::io::broker* self_;
  caf::io::connection_handle handle_;
  decoder decoder_;
  window window_;
  std::uint64_t recorded_;  // survives connections; starts with what the link's row says
  bool attached_ = false;   // hello has come on this connection
  bool had_hello_ = false;  // on any connection of this incarnation: the window may be resumed
  /// Bytes of the present frame that the socket did not take; the scribe is handed at most scribe_chunk of them at a time.
  std::string rest_;
  std::size_t rest_offset_ = 0;
  bool awaiting_scribe_ = false;  // it writes some of rest_: nothing else may be written meanwhile
  std::string scratch_;           // one frame's bytes, reused
};

}  // namespace holdfast::link

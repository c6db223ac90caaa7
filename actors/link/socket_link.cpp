#include "actors/link/socket_link.hpp"

#include <sys/socket.h>

#include <algorithm>

#include <caf/io/receive_policy.hpp>

#include "actors/base/defaults.hpp"

namespace holdfast::link {

void socket_link::open(unique_fd socket, attach const& message) {
  close();
  handle_ = self_->add_scribe(socket.release());
  self_->configure_read(handle_, caf::io::receive_policy::at_most(defaults::read_chunk));
  write(0, to_json(message));
}

void socket_link::close() {
  if (!is_open()) return;
  auto const handle = handle_;
  on_closed();
  self_->close(handle);
}

void socket_link::on_closed() {
  handle_ = caf::io::connection_handle{};
  attached_ = false;
  std::string().swap(rest_);
  rest_offset_ = 0;
  awaiting_scribe_ = false;
  decoder_ = decoder{};
}

void socket_link::on_hello(hello const& message) {
  if (had_hello_) {
    window_.resume_same(message.ack, message.first);
  } else {
    window_ = window::fresh(recorded_, message.ack, message.first);
    had_hello_ = true;
  }
  attached_ = true;
}

std::vector<event> socket_link::on_data(std::vector<char> const& bytes) {
  std::vector<event> events;
  decoder_.feed({bytes.data(), bytes.size()});
  while (auto item = decoder_.next()) {
    if (!attached_) {
      auto* first = std::get_if<frame>(&*item);
      auto answer = first ? parse_hello(first->payload) : tl::unexpected<std::string>("over-long handshake");
      if (!answer) {
        events.push_back(broken{answer.error()});
        return events;
      }
      if (auto* said = std::get_if<hello>(&*answer)) {
        on_hello(*said);
        events.push_back(std::move(*said));
        pump();
        continue;
      }
      events.push_back(std::move(std::get<refused>(*answer)));
      return events;
    }
    auto const [seq, ack] = std::visit([](auto const& header) { return std::pair{header.seq, header.ack}; }, *item);
    switch (window_.on_frame(seq, ack)) {
      case window::receipt::fresh: std::visit([&](auto& whole) { events.push_back(std::move(whole)); }, *item); break;
      case window::receipt::duplicate: break;
      case window::receipt::gap: events.push_back(broken{"frames are missing before seq " + std::to_string(seq)}); return events;
    }
  }
  return events;
}

bool socket_link::send(std::string payload) {
  if (!window_.push(std::move(payload))) return false;
  pump();
  return true;
}

void socket_link::record(std::uint64_t seq) {
  recorded_ = std::max(recorded_, seq);
  window_.record(seq);
}

void socket_link::write_ack() {
  if (ack_due() && !awaiting_scribe_) write(0, {});
}

void socket_link::pump() {
  if (!attached_) return;
  while (window_.has_unsent() && !awaiting_scribe_) {
    auto const next = window_.take_unsent();
    write(next->seq, next->payload);
  }
}

// PORT(caf-1.x): CAF 0.17 makes the handle of a scribe from its descriptor.
void socket_link::write(std::uint64_t seq, std::string_view payload) {
  scratch_.clear();
  append(scratch_, seq, window_.ack(), payload);
  window_.ack_sent();
  auto const written = ::send(static_cast<int>(handle_.id()), scratch_.data(), scratch_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (written == static_cast<ssize_t>(scratch_.size())) {
    if (scratch_.capacity() > defaults::scribe_chunk) std::string().swap(scratch_);
    return;
  }
  // Full, or broken: the scribe waits, or finds out.
  rest_ = std::move(scratch_);
  rest_offset_ = written > 0 ? static_cast<std::size_t>(written) : 0;
  scratch_ = {};
  awaiting_scribe_ = true;
  self_->ack_writes(handle_, true);
  hand_rest_to_scribe();
}

void socket_link::hand_rest_to_scribe() {
  auto const length = std::min<std::size_t>(defaults::scribe_chunk, rest_.size() - rest_offset_);
  self_->write(handle_, length, rest_.data() + rest_offset_);
  rest_offset_ += length;
  self_->flush(handle_);
}

void socket_link::on_transferred(std::uint64_t remaining) {
  if (!awaiting_scribe_ || remaining > 0) return;
  if (rest_offset_ < rest_.size()) return hand_rest_to_scribe();
  std::string().swap(rest_);
  awaiting_scribe_ = false;
  self_->ack_writes(handle_, false);
  pump();
  write_ack();
}

}  // namespace holdfast::link

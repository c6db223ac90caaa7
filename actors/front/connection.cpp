#include "actors/front/connection.hpp"

#include <sys/socket.h>

#include "actors/base/defaults.hpp"

namespace holdfast::front {
namespace {

constexpr int direct_writes_most = 16;  // a turn: a client that reads as fast as it is written to must not hold the thread

}  // namespace

// PORT(caf-1.x): CAF 0.17 makes the handle of a scribe from its descriptor.
connection::connection(caf::io::broker* self, caf::io::connection_handle handle, std::uint64_t connection_number,
                       outbox::limits queue, time_point now)
    : number(connection_number),
      lines(defaults::line_limit),
      last_heard_at(now),
      self_(self),
      handle_(handle),
      fd_(static_cast<int>(handle.id())),
      queue_(queue) {}

bool connection::send(std::string line) {
  if (is_cut_off_) return true;
  if (queue_.push(std::move(line)) == outbox::verdict::overflow) {
    cut_off();
    return false;
  }
  write_out();
  return true;
}

outbox::verdict connection::send_stream(std::string_view params) {
  if (is_cut_off_) return outbox::verdict::queued;
  auto const verdict = queue_.push_stream(params);
  if (verdict == outbox::verdict::overflow) cut_off();
  if (verdict == outbox::verdict::queued) write_out();
  return verdict;
}

void connection::on_written(std::size_t remaining) {
  handed_ = remaining;
  if (!is_cut_off_) write_out();
}

void connection::write_out() {
  if (handed_ > 0) return;
  for (int turn = 0; turn < direct_writes_most && !queue_.empty(); ++turn) {
    auto const chunk = queue_.front(defaults::scribe_chunk);
    auto const written = ::send(fd_, chunk.data(), chunk.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (written > 0) queue_.consume(static_cast<std::size_t>(written));
    if (written < static_cast<ssize_t>(chunk.size())) break;  // full, or broken: the scribe waits or finds out
  }
  if (queue_.empty()) return;
  auto& buffer = self_->wr_buf(handle_);
  while (!queue_.empty() && handed_ < defaults::scribe_chunk) {
    auto const chunk = queue_.front(defaults::scribe_chunk - handed_);
    buffer.insert(buffer.end(), chunk.begin(), chunk.end());
    handed_ += chunk.size();
    queue_.consume(chunk.size());
  }
  self_->flush(handle_);
}

void connection::cut_off() {
  if (is_cut_off_) return;
  is_cut_off_ = true;
  queue_ = outbox();
  // close() would wait for the peer's own close; the shutdown makes the scribe see an end of file.
  ::shutdown(fd_, SHUT_RDWR);
}

}  // namespace holdfast::front

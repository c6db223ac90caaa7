#include "actors/front/client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "actors/base/defaults.hpp"
#include "actors/base/unix_socket.hpp"
#include "actors/front/rpc.hpp"

namespace holdfast::front {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds write_deadline{30'000};
constexpr milliseconds connect_retry{5};  // while the backlog is full
/// Answers are the daemon's own and may be longer than a request; this only keeps a broken peer from filling the memory.
constexpr std::size_t max_incoming_bytes = 8 * defaults::line_limit;

tl::unexpected<error> closed(std::string message) { return fail(error_code::unreachable, std::move(message), {{"closed", true}}); }
tl::unexpected<error> timed_out(std::string message) {
  return fail(error_code::unreachable, std::move(message), {{"timeout", true}});
}
tl::unexpected<error> garbled(std::string message) { return fail(error_code::parse_error, std::move(message)); }

/// Whether the descriptor became ready before the deadline.
bool wait_for(int fd, short events, steady_clock::time_point deadline) {
  for (;;) {
    auto const left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
    pollfd waited{fd, events, 0};
    int const ready = ::poll(&waited, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000)));
    if (ready > 0) return true;
    if (ready == 0 && left <= 0) return false;
    if (ready < 0 && errno != EINTR) return true;  // the read or write that follows tells what is wrong
  }
}

error read_error(json::object const& object) {
  error problem;
  if (auto const* code = object.if_contains("code"); code != nullptr && code->is_int64())
    problem.code = static_cast<error_code>(code->get_int64());
  if (auto const* message = object.if_contains("message"); message != nullptr && message->is_string())
    problem.message = message->get_string().c_str();
  if (auto const* data = object.if_contains("data"); data != nullptr && data->is_object()) problem.data = data->get_object();
  problem.data.erase("kind");  // to_json adds both again
  problem.data.erase("retry");
  return problem;
}

result<client::incoming> read_incoming(std::string_view line) {
  json::parse_options options;
  options.max_depth = max_line_depth + 8;  // the envelope around what the daemon bounded
  json::error_code code;
  auto value = json::parse({line.data(), line.size()}, code, {}, options);
  auto* object = code ? nullptr : value.if_object();
  if (object == nullptr)
    return garbled("cannot read the daemon's answer: " + (code ? code.message() : std::string("not an object")));
  client::incoming read;
  if (auto* method = object->if_contains("method"); method != nullptr && method->is_string()) {
    read.method = method->get_string().c_str();
    if (auto* params = object->if_contains("params"); params != nullptr && params->is_object())
      read.params = std::move(params->get_object());
    return read;
  }
  if (auto* id = object->if_contains("id"); id != nullptr && id->is_int64()) read.id = static_cast<std::uint64_t>(id->get_int64());
  if (auto* problem = object->if_contains("error"); problem != nullptr && problem->is_object()) {
    read.problem = read_error(problem->get_object());
    // Without an id it is about a line of ours that the daemon could not read: nobody waits for it by id.
    if (!read.id) return tl::unexpected(std::move(*read.problem));
  } else if (auto* result = object->if_contains("result"); result != nullptr && read.id) {
    read.result = std::move(*result);
  } else {
    return garbled("cannot read the daemon's answer: neither result nor error");
  }
  return read;
}

}  // namespace

result<client> client::connect(std::filesystem::path const& socket, milliseconds timeout) {
  auto const deadline = steady_clock::now() + timeout;
  for (;;) {
    auto connected = connect_unix(socket);
    if (connected) return client(connected->release());
    if (connected.error() != EAGAIN)
      return closed("cannot connect to " + socket.string() + ": " + std::strerror(connected.error()));
    if (steady_clock::now() >= deadline) return timed_out("cannot connect to " + socket.string() + ": its backlog is full");
    std::this_thread::sleep_for(connect_retry);
  }
}

client::client(client&& other) noexcept { *this = std::move(other); }

client& client::operator=(client&& other) noexcept {
  if (this == &other) return *this;
  if (fd_ >= 0) ::close(fd_);
  fd_ = std::exchange(other.fd_, -1);
  last_id_ = other.last_id_;
  buffer_ = std::move(other.buffer_);
  begin_ = std::exchange(other.begin_, 0);
  searched_ = std::exchange(other.searched_, 0);
  kept_ = std::move(other.kept_);
  return *this;
}

client::~client() {
  if (fd_ >= 0) ::close(fd_);
}

result<std::uint64_t> client::send(std::string_view method, json::object params) {
  auto const id = last_id_ + 1;
  json::object envelope;
  envelope["jsonrpc"] = "2.0";
  envelope["id"] = id;
  envelope["method"] = method;
  envelope["params"] = std::move(params);
  auto line = json::serialize(envelope);
  if (line.size() > defaults::line_limit)
    return fail(error_code::too_large, "cannot send " + std::string(method) + ": the request is " + std::to_string(line.size()) +
                                           " bytes, wanted at most " + std::to_string(defaults::line_limit));
  line += '\n';
  std::string_view left = line;
  auto const deadline = steady_clock::now() + write_deadline;
  while (!left.empty()) {
    auto const written = ::send(fd_, left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written >= 0) {
      left.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      if (!wait_for(fd_, POLLOUT, deadline)) return timed_out("cannot send " + std::string(method) + ": the daemon reads nothing");
    } else if (errno != EINTR) {
      return closed("cannot send " + std::string(method) + ": " + std::strerror(errno));
    }
  }
  last_id_ = id;
  return id;
}

result<client::incoming> client::receive(milliseconds timeout) {
  if (!kept_.empty()) {
    auto first = std::move(kept_.front());
    kept_.pop_front();
    return first;
  }
  return read(steady_clock::now() + timeout);
}

result<client::incoming> client::read(steady_clock::time_point deadline) {
  for (;;) {
    auto const end = buffer_.find('\n', searched_);
    if (end != buffer_.npos) {
      auto next = read_incoming(std::string_view(buffer_).substr(begin_, end - begin_));
      begin_ = searched_ = end + 1;
      if (begin_ == buffer_.size()) {
        buffer_.clear();
        begin_ = searched_ = 0;
      }
      return next;
    }
    if (begin_ > 0) buffer_.erase(0, begin_);
    begin_ = 0;
    searched_ = buffer_.size();
    if (buffer_.size() > max_incoming_bytes) return garbled("cannot read the daemon's answer: a line without an end");
    std::array<char, 65'536> piece;
    auto const count = ::recv(fd_, piece.data(), piece.size(), MSG_DONTWAIT);
    if (count > 0) {
      buffer_.append(piece.data(), static_cast<std::size_t>(count));
    } else if (count == 0) {
      return closed("the daemon closed the connection");
    } else if (errno == EAGAIN) {
      if (!wait_for(fd_, POLLIN, deadline)) return timed_out("nothing came from the daemon in time");
    } else if (errno != EINTR) {
      return closed(std::string("cannot read from the daemon: ") + std::strerror(errno));
    }
  }
}

result<json::value> client::call(std::string_view method, json::object params, milliseconds timeout,
                                 on_notification const& notified) {
  auto const deadline = steady_clock::now() + timeout;
  auto const id = send(method, std::move(params));
  if (!id) return tl::unexpected(id.error());
  for (;;) {
    auto next = read(deadline);
    if (!next) return tl::unexpected(std::move(next.error()));
    if (!next->id) {
      if (notified) notified(next->method, next->params);
    } else if (*next->id != *id) {
      kept_.push_back(std::move(*next));
    } else if (next->problem) {
      return tl::unexpected(std::move(*next->problem));
    } else {
      return std::move(next->result);
    }
  }
}

}  // namespace holdfast::front

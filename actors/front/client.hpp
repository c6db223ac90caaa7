// A blocking client of a running daemon, over its unix socket. Used by the command line and by tests.
// One thread, one connection, no CAF. Every wait has a limit. It refuses nothing that the daemon would refuse: params go as given.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "actors/base/errors.hpp"

namespace holdfast::front {

class client {
 public:
  /// What the daemon sent: the answer to request `id` (a result or a problem), or a notification (no `id`; `method` and `params`).
  struct incoming {
    std::optional<std::uint64_t> id;
    boost::json::value result;
    std::optional<error> problem;
    std::string method;
    boost::json::object params;
  };
  using on_notification = std::function<void(std::string_view method, boost::json::object const& params)>;

  /// Connects to the socket file. Errors: unreachable, with data {"closed": true} when nothing listens there, {"timeout": true}
  /// when the daemon does not accept in time.
  static result<client> connect(std::filesystem::path const& socket, std::chrono::milliseconds timeout);

  client(client&& other) noexcept;
  client& operator=(client&& other) noexcept;
  client(client const&) = delete;
  client& operator=(client const&) = delete;
  ~client();

  /// Sends a request and returns its id, which counts from 1. Errors: unreachable with data {"closed": true} or {"timeout": true}
  /// (the daemon reads nothing for 30 s); too_large for a line that the daemon would not take.
  result<std::uint64_t> send(std::string_view method, boost::json::object params = {});

  /// The next thing that the daemon sends, in its order. Errors: unreachable with data {"closed": true} once the connection is
  /// gone, with {"timeout": true} when nothing came in time; parse_error when the peer does not speak this protocol.
  result<incoming> receive(std::chrono::milliseconds timeout);

  /// Sends a request and waits for its answer; notifications that come meanwhile go to `notified`, answers to other requests are
  /// kept for receive(). A daemon's error comes back as that error. `timeout` bounds the whole call.
  result<boost::json::value> call(std::string_view method, boost::json::object params, std::chrono::milliseconds timeout,
                                  on_notification const& notified = {});

  /// The connection, for poll(); still owned by the client. What has been read already is not seen there: receive(0 ms) first.
  int fd() const { return fd_; }

 private:
  explicit client(int fd) : fd_(fd) {}
  result<incoming> read(std::chrono::steady_clock::time_point deadline);

  int fd_ = -1;                // non-blocking; -1 once closed or moved from
  std::uint64_t last_id_ = 0;  // of the newest request
  std::string buffer_;         // bytes read; the next line begins at `begin_`
  std::size_t begin_ = 0;
  std::size_t searched_ = 0;   // up to here no newline was found in `buffer_`; never below `begin_`
  std::deque<incoming> kept_;  // answers that came while call() waited for another one
};

}  // namespace holdfast::front

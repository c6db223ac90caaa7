// A unix server over a fake core in a directory of its own, and a raw connection that can misbehave.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <string_view>

#include <caf/scoped_actor.hpp>
#include <catch2/catch.hpp>

#include "actors/base/caf.hpp"
#include "actors/base/unix_socket.hpp"
#include "actors/front/client.hpp"
#include "actors/front/unix_server.hpp"
#include "tests/front/fake_core.hpp"
#include "tests/support/temporary_directory.hpp"

namespace holdfast::front {

constexpr std::chrono::seconds long_enough{20};

class served {
 public:
  explicit served(server_options options = {}) {
    options.socket = socket();
    options.core = core;
    options.calls.cell_timeout = std::chrono::milliseconds(123'000);
    options.calls.background_after = std::chrono::milliseconds(45'000);
    auto started = start_unix_server(system_, std::move(options));
    if (!started) throw std::runtime_error(started.error().message);
    server = *started;
  }
  ~served() {
    caf::anon_send(server, gateway_ended{});
    caf::scoped_actor(system_)->wait_for(server);
  }

  std::filesystem::path socket() const { return home_ / "holdfast.sock"; }
  client connect() const {
    auto connected = client::connect(socket(), long_enough);
    if (!connected) throw std::runtime_error(connected.error().message);
    return std::move(*connected);
  }

  caf::actor_system& system() { return system_; }

 private:
  test::temporary_directory home_;
  system_config config_;
  caf::actor_system system_{config_};

 public:
  std::shared_ptr<fake_core> core = std::make_shared<fake_core>();
  caf::actor server;
};

class raw_connection {
 public:
  explicit raw_connection(std::filesystem::path const& socket) {
    auto const deadline = std::chrono::steady_clock::now() + long_enough;
    for (;;) {
      auto connected = connect_unix(socket);
      if (connected) fd_ = std::move(*connected);
      if (connected || connected.error() != EAGAIN || std::chrono::steady_clock::now() > deadline) break;
    }
    if (!fd_) throw std::runtime_error("cannot connect");
  }

  /// False once the other end is gone.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      auto const sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0)
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      else if (errno != EAGAIN || !wait(POLLOUT))
        return false;
    }
    return true;
  }
  bool request(std::string const& params, int id = 1, std::string const& method = "run") {
    return send(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + method + R"(","params":)" + params + "}\n");
  }

  /// The next line, or "" at the end of the connection.
  std::string read_line() {
    std::size_t end;
    while ((end = buffer_.find('\n')) == buffer_.npos)
      if (!read_some()) return {};
    auto line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return line;
  }
  /// Reads on until the other end closes; false when it does not.
  bool is_closed() {
    while (read_some()) {
    }
    return at_end_;
  }
  /// The number of bytes that came before the end of the connection.
  std::size_t read_to_end() {
    while (read_some()) {
    }
    REQUIRE(at_end_);
    return buffer_.size();
  }

 private:
  bool wait(short events) {
    pollfd waited{fd_.get(), events, 0};
    return ::poll(&waited, 1, std::chrono::milliseconds(long_enough).count()) > 0;
  }
  bool read_some() {
    char piece[65'536];
    if (!wait(POLLIN)) return false;
    auto const count = ::recv(fd_.get(), piece, sizeof piece, 0);
    at_end_ = count == 0 || (count < 0 && errno == ECONNRESET);
    if (count <= 0) return false;
    buffer_.append(piece, static_cast<std::size_t>(count));
    return true;
  }

  unique_fd fd_;
  std::string buffer_;
  bool at_end_ = false;
};

}  // namespace holdfast::front

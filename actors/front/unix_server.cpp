#include "actors/front/unix_server.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include <caf/io/middleman.hpp>

#include "actors/base/caf.hpp"
#include "actors/base/log.hpp"
#include "actors/base/unix_socket.hpp"
#include "actors/front/connection.hpp"
#include "actors/front/rpc.hpp"

namespace holdfast::front {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds accept_pause{1};  // after which a halted acceptor looks again

/// Descriptors up to this number may be used by connections.
int descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == -1 || limit.rlim_cur > 1u << 20) return 1 << 20;
  auto const all = static_cast<int>(limit.rlim_cur), spare = static_cast<int>(defaults::spare_descriptors);
  return all > 2 * spare ? all - spare : all / 2;
}

using file_identity = std::pair<::dev_t, ::ino_t>;
std::optional<file_identity> identity_of(std::filesystem::path const& path) {
  struct ::stat found {};
  if (::lstat(path.c_str(), &found) != 0) return std::nullopt;
  return file_identity{found.st_dev, found.st_ino};
}

class server {
 public:
  server(caf::io::broker* self, server_options options, int listener)
      : self_(self),
        options_(std::move(options)),
        socket_(identity_of(options_.socket)),
        descriptor_limit_(descriptor_limit()),
        acceptor_(self->add_doorman(listener)) {}

  void on_connection(caf::io::connection_handle handle) {
    int const fd = static_cast<int>(handle.id());
    self_->configure_read(handle, caf::io::receive_policy::at_most(defaults::read_chunk));
    if (is_ended_ || !is_trusted_peer(fd)) {
      if (!is_ended_) log::warn("client-refused", "client refused: it runs as another user");
      ++options_.core->clients->refused;
      ::shutdown(fd, SHUT_RDWR);
      return;
    }
    if (connections_.size() >= options_.max_connections && !make_room()) {
      log::warn("client-refused", "client refused: {} connections, all with open requests", connections_.size());
      ++options_.core->clients->refused;
      ::shutdown(fd, SHUT_RDWR);
      return;
    }
    self_->ack_writes(handle, true);
    auto made = std::make_unique<connection>(self_, handle, ++last_connection_, options_.queue, steady_clock::now());
    ++options_.core->clients->accepted;
    ++options_.core->clients->connections;
    by_handle_[handle] = made.get();
    connections_.emplace(made->number, std::move(made));
    if (fd >= descriptor_limit_) pause_accepting();
  }

  void on_data(caf::io::new_data_msg const& message) {
    auto const found = by_handle_.find(message.handle);
    if (found == by_handle_.end() || found->second->is_cut_off() || is_ended_) return;
    auto& client = *found->second;
    auto const now = steady_clock::now();
    client.last_heard_at = now;
    client.lines.feed(
        {message.buf.data(), message.buf.size()}, now, [this, &client](std::string_view line) { return on_line(client, line); },
        [this, &client] { return on_overlong(client); });
    if (client.lines.began_at()) alarm_.at(self_, *client.lines.began_at() + options_.line_deadline);
  }

  void on_written(caf::io::data_transferred_msg const& message) {
    auto const found = by_handle_.find(message.handle);
    if (found == by_handle_.end()) return;
    found->second->on_written(message.remaining);
    if (is_ended_ && found->second->has_written_all()) found->second->cut_off();
  }

  void on_connection_lost(caf::io::connection_handle handle) {
    auto const found = by_handle_.find(handle);
    if (found == by_handle_.end()) return;
    auto const number = found->second->number;
    by_handle_.erase(found);
    connections_.erase(number);
    --options_.core->clients->connections;
    if (!is_ended_) options_.core->route(connection_closed{self(), number});
    if (is_accept_paused_) resume_accepting();
    if (is_ended_ && connections_.empty()) self_->quit();
  }

  void on_answer(answer& answered) {
    auto const found = connections_.find(answered.connection);
    if (found == connections_.end()) return;
    auto& client = *found->second;
    auto const request = client.open_requests.find(answered.request);
    if (request == client.open_requests.end()) return;
    auto const id = std::move(request->second);
    client.open_requests.erase(request);
    client.last_heard_at = steady_clock::now();  // it was not silent: it waited
    send(client, answered.outcome ? answer_line(id, *answered.outcome) : error_line(id, answered.outcome.error()));
  }

  void on_notification(notification const& told) {
    auto const found = connections_.find(told.connection);
    if (found == connections_.end()) return;
    auto& client = *found->second;
    if (told.method != "cell.stream") return send(client, notification_line(told.method, told.params));
    auto const verdict = client.send_stream(told.params);
    if (verdict == outbox::verdict::overflow) log_overflow();
    if (verdict == outbox::verdict::dropped) ++options_.core->clients->stream_lost;
  }

  void on_wake_up(wake_up const& message) {
    if (!alarm_.take(message)) return;
    auto const now = steady_clock::now();
    if (is_ended_) {
      if (now >= farewell_until_) cut_off_all();
      return;
    }
    for (auto& [number, client] : connections_) {
      if (client->is_cut_off() || !client->lines.began_at()) continue;
      auto const due = *client->lines.began_at() + options_.line_deadline;
      if (due <= now) {
        log::warn("client-closed", "client closed: its line was not complete after {} ms", options_.line_deadline.count());
        client->cut_off();
      } else {
        alarm_.at(self_, due);
      }
    }
    if (is_accept_paused_) resume_accepting();
  }

  void on_gateway_ended(gateway_ended const& told) {
    if (is_ended_) return;
    is_ended_ = true;
    // While the home is still locked it is ours; in a home that took the place of ours it is another daemon's.
    if (identity_of(options_.socket) == socket_) ::unlink(options_.socket.c_str());
    self_->close(acceptor_);
    if (options_.on_ended) options_.on_ended(told.why);
    for (auto& [number, client] : connections_)
      if (client->has_written_all()) client->cut_off();
    if (connections_.empty()) return self_->quit();
    farewell_until_ = steady_clock::now() + options_.farewell;
    alarm_ = alarm();
    alarm_.at(self_, farewell_until_);
  }

 private:
  caf::actor self() const { return caf::actor_cast<caf::actor>(self_); }

  bool on_line(connection& client, std::string_view line) {
    auto request = parse_request(line);
    if (!request) {
      send(client, error_line(request.error().id, request.error().problem));
      return !client.is_cut_off();
    }
    if (client.open_requests.size() >= options_.max_open_requests) {
      auto const limit = std::to_string(options_.max_open_requests);
      send(client, error_line(request->id, {error_code::busy,
                                            "cannot accept " + request->method + ": this connection has " + limit +
                                                " open requests, at most " + limit + "; wait for an answer first",
                                            {}}));
      return !client.is_cut_off();
    }
    auto const number = ++client.last_request;
    auto at_once = dispatch(*options_.core, options_.calls, request->method, request->params, {self(), client.number, number});
    if (!at_once) {
      client.open_requests.emplace(number, std::move(request->id));
      return true;
    }
    send(client, *at_once ? answer_line(request->id, **at_once) : error_line(request->id, at_once->error()));
    return !client.is_cut_off();
  }

  bool on_overlong(connection& client) {
    send(client, error_line("null", {error_code::too_large,
                                     "the line is longer than " + std::to_string(defaults::line_limit) + " bytes; it was skipped",
                                     {}}));
    return !client.is_cut_off();
  }

  void send(connection& client, std::string line) {
    if (!client.send(std::move(line))) log_overflow();
  }

  void log_overflow() { log::warn("client-closed", "client closed: it left {} bytes unread", options_.queue.all); }

  /// Cuts off who has been silent for longest among those that wait for nothing. False: everyone waits.
  bool make_room() {
    connection* silent = nullptr;
    std::size_t live = 0;
    for (auto& [number, client] : connections_) {
      if (client->is_cut_off()) continue;
      ++live;
      if (client->open_requests.empty() && (silent == nullptr || client->last_heard_at < silent->last_heard_at))
        silent = client.get();
    }
    if (live < options_.max_connections) return true;
    if (silent == nullptr) return false;
    log::warn("client-closed", "client closed: {} connections, it was silent for longest", connections_.size());
    silent->cut_off();
    ++options_.core->clients->refused;
    return true;
  }

  void cut_off_all() {
    for (auto& [number, client] : connections_) client->cut_off();
  }

  /// At EMFILE accept() would fail again and again: stop before.
  void pause_accepting() {
    if (is_accept_paused_) return;
    log::warn("accept-paused", "server accepts nothing: {} descriptors are in use", descriptor_limit_);
    is_accept_paused_ = true;
    self_->halt(acceptor_);
    alarm_.at(self_, steady_clock::now() + accept_pause);
  }

  void resume_accepting() {
    int const lowest = ::fcntl(0, F_DUPFD_CLOEXEC, 3);  // the lowest free number tells how many are in use
    int const probe = lowest >= 0 || errno == EMFILE ? lowest : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (probe >= 0) ::close(probe);
    if (probe < 0 || probe >= descriptor_limit_) {
      alarm_.at(self_, steady_clock::now() + accept_pause);
      return;
    }
    is_accept_paused_ = false;
    self_->trigger(acceptor_);
    log::info("accept-resumed", "server accepts again");
  }

  caf::io::broker* self_;
  server_options options_;
  std::optional<file_identity> socket_;  // no other file gets it while the socket is bound to it
  int descriptor_limit_;
  caf::io::accept_handle acceptor_;
  bool is_accept_paused_ = false;
  bool is_ended_ = false;  // gateway_ended came: nothing is read any more
  steady_clock::time_point farewell_until_{};
  alarm alarm_;  // for the earliest line deadline, a paused acceptor, or the farewell
  std::uint64_t last_connection_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<connection>> connections_;
  std::unordered_map<caf::io::connection_handle, connection*> by_handle_;  // the same ones
};

caf::behavior run_server(caf::io::broker* self, server_options options, int listener) {
  set_handlers(self, "unix server");
  auto state = std::make_shared<server>(self, std::move(options), listener);
  return {
      [=](caf::io::new_connection_msg const& message) { state->on_connection(message.handle); },
      [=](caf::io::new_data_msg const& message) { state->on_data(message); },
      [=](caf::io::data_transferred_msg const& message) { state->on_written(message); },
      [=](caf::io::connection_closed_msg const& message) { state->on_connection_lost(message.handle); },
      [=](caf::io::acceptor_closed_msg const&) {},
      [=](answer& message) { state->on_answer(message); },
      [=](notification const& message) { state->on_notification(message); },
      [=](wake_up const& message) { state->on_wake_up(message); },
      [=](gateway_ended const& told) { state->on_gateway_ended(told); },
  };
}

}  // namespace

result<caf::actor> start_unix_server(caf::actor_system& system, server_options options) {
  auto listener = listen_unix(options.socket, defaults::listen_backlog);
  if (!listener) {
    auto const code = listener.error() == EADDRINUSE ? error_code::busy : error_code::unreachable;
    return fail(code, "cannot listen at " + options.socket.string() + ": " + std::strerror(listener.error()));
  }
  return system.middleman().spawn_broker(run_server, std::move(options), listener->release());
}

}  // namespace holdfast::front

#include "actors/front/metrics_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>

#include <boost/json/parse.hpp>
#include <caf/io/middleman.hpp>

#include "actors/base/caf.hpp"
#include "actors/base/defaults.hpp"
#include "actors/front/http_head.hpp"

namespace holdfast::front {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t connections_most = 32;
constexpr std::chrono::seconds connection_deadline{10};
constexpr int backlog = 16;

/// The error is an errno.
tl::expected<unique_fd, int> listen_at(std::string const& where) {
  auto const colon = where.rfind(':');
  auto const port = htons(static_cast<std::uint16_t>(std::stoi(where.substr(colon + 1))));
  auto const is_six = where.starts_with('[');
  unique_fd fd(::socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return tl::unexpected(errno);
  int const yes = 1;  // a port that an earlier daemon has just left is free
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = port;
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = port;
  six.sin6_addr = in6addr_loopback;
  auto const* address = is_six ? reinterpret_cast<sockaddr const*>(&six) : reinterpret_cast<sockaddr const*>(&four);
  auto const size = static_cast<socklen_t>(is_six ? sizeof six : sizeof four);
  if (::bind(fd.get(), address, size) == -1 || ::listen(fd.get(), backlog) == -1) return tl::unexpected(errno);
  return fd;
}

class metrics_server {
 public:
  using ended = std::function<void(std::optional<error> const&)>;

  metrics_server(caf::io::broker* self, core_handle core, int listener, ended on_ended)
      : self_(self), core_(std::move(core)), on_ended_(std::move(on_ended)), acceptor_(self->add_doorman(listener)) {
    core_->route(supervisor_call{{address(), 0, 0}, await_end{}});
  }

  void on_connection(caf::io::connection_handle handle) {
    self_->configure_read(handle, caf::io::receive_policy::at_most(defaults::read_chunk));  // only then it hears of an end
    if (is_ended_ || clients_.size() >= connections_most) return cut_off(handle);
    self_->ack_writes(handle, true);
    auto const until = steady_clock::now() + connection_deadline;
    clients_[handle] = {++last_number_, {}, until, state::reading};
    alarm_.at(self_, until);
  }

  void on_data(caf::io::new_data_msg const& message) {
    auto const found = clients_.find(message.handle);
    if (found == clients_.end() || found->second.now != state::reading) return;
    auto& client = found->second;
    client.received.append(message.buf.data(), message.buf.size());
    auto const asked = read_http_head(client.received);
    if (asked == http_asked::incomplete) return;
    client.now = state::asking;
    std::string().swap(client.received);
    if (asked == http_asked::metrics) return core_->route(supervisor_call{{address(), client.number, 0}, get_metrics{}});
    send(found->first, client, http_response(asked, {}));
  }

  void on_answer(answer const& answered) {
    for (auto& [handle, client] : clients_) {
      if (client.number != answered.connection || client.now != state::asking) continue;
      if (!answered.outcome) return send(handle, client, http_unavailable(answered.outcome.error().message));
      return send(handle, client, http_response(http_asked::metrics, boost::json::parse(*answered.outcome).as_string()));
    }
  }

  /// Its own end comes when it has read all: a close with unread bytes on the way could take them from it.
  void on_written(caf::io::data_transferred_msg const& message) {
    auto const found = clients_.find(message.handle);
    if (found == clients_.end() || found->second.now != state::sending || message.remaining > 0) return;
    ::shutdown(static_cast<int>(message.handle.id()), SHUT_WR);
  }

  void on_closed(caf::io::connection_handle handle) {
    clients_.erase(handle);
    quit_if_done();
  }

  void on_wake_up(wake_up const& message) {
    if (!alarm_.take(message)) return;
    auto const now = steady_clock::now();
    for (auto const& [handle, client] : clients_)
      if (client.until <= now)
        cut_off(handle);
      else
        alarm_.at(self_, client.until);
  }

  void on_gateway_ended(gateway_ended const& told) {
    if (is_ended_) return;
    is_ended_ = true;
    self_->close(acceptor_);
    if (on_ended_) on_ended_(told.why);
    for (auto const& [handle, client] : clients_) cut_off(handle);
    quit_if_done();
  }

 private:
  enum class state { reading, asking, sending };
  struct visitor {
    std::uint64_t number = 0;  // never reused, unlike the handle
    std::string received;      // up to http_head_limit and one read more
    steady_clock::time_point until;
    state now = state::reading;
  };

  caf::actor address() const { return caf::actor_cast<caf::actor>(self_); }
  void quit_if_done() {
    if (is_ended_ && clients_.empty()) self_->quit();
  }
  void send(caf::io::connection_handle handle, visitor& to, std::string const& text) {
    to.now = state::sending;
    self_->write(handle, text.size(), text.data());
    self_->flush(handle);
  }
  /// The scribe sees an end of file and tells connection_closed.
  /// PORT(caf-1.x): CAF 0.17 makes the handle of a scribe from its descriptor.
  static void cut_off(caf::io::connection_handle handle) { ::shutdown(static_cast<int>(handle.id()), SHUT_RDWR); }

  caf::io::broker* self_;
  core_handle core_;
  ended on_ended_;
  caf::io::accept_handle acceptor_;
  bool is_ended_ = false;
  std::uint64_t last_number_ = 0;
  alarm alarm_;  // for the earliest deadline
  std::unordered_map<caf::io::connection_handle, visitor> clients_;
};

caf::behavior run_metrics_server(caf::io::broker* self, core_handle core, int listener, metrics_server::ended on_ended) {
  set_handlers(self, "metrics server");
  auto state = std::make_shared<metrics_server>(self, std::move(core), listener, std::move(on_ended));
  return {
      [=](caf::io::new_connection_msg const& message) { state->on_connection(message.handle); },
      [=](caf::io::new_data_msg const& message) { state->on_data(message); },
      [=](caf::io::data_transferred_msg const& message) { state->on_written(message); },
      [=](caf::io::connection_closed_msg const& message) { state->on_closed(message.handle); },
      [=](caf::io::acceptor_closed_msg const&) {},
      [=](answer const& message) { state->on_answer(message); },
      [=](notification const&) {},
      [=](wake_up const& message) { state->on_wake_up(message); },
      [=](gateway_ended const& told) { state->on_gateway_ended(told); },
  };
}

}  // namespace

result<caf::actor> start_metrics_server(caf::actor_system& system, core_handle core, std::string const& listen,
                                        std::function<void(std::optional<error> const&)> on_ended) {
  auto listener = listen_at(listen);
  if (!listener) {
    auto const code = listener.error() == EADDRINUSE ? error_code::busy : error_code::unreachable;
    return fail(code, "cannot serve metrics at " + listen + ": " + std::strerror(listener.error()) +
                          "; name another port in metrics_listen, or off");
  }
  return system.middleman().spawn_broker(run_metrics_server, std::move(core), listener->release(), std::move(on_ended));
}

}  // namespace holdfast::front

// A kernel of this machine: its unix socket and its pidfd.
#include "actors/base/caf.hpp"
#include "actors/base/identity.hpp"
#include "actors/base/unix_socket.hpp"
#include "actors/core/kernel_reach.hpp"

namespace holdfast::core {

namespace {

class local_reach final : public kernel_reach {
 public:
  local_reach(caf::io::broker* self, shared_context shared, reached_kernel of)
      : self_(self),
        shared_(std::move(shared)),
        directory_(of.row.directory),
        on_gone_(std::move(of.on_gone)),
        link_(self, of.row.last_seq) {}

  link::transport& link() override { return link_; }
  link::socket_link* socket() override { return &link_; }

  /// What cannot be told now is asked again with the next attempt to connect.
  bool identify(storage::process_identity const& process) override {
    process_ = process;
    if (watch_ || process.pid == 0) return true;
    auto pidfd = open_pidfd(process);
    if (pidfd)
      watch_ = process_watch(self_, std::move(*pidfd), on_gone_);
    else if (pidfd.error() == process_state::gone)
      return false;
    return true;
  }

  std::optional<failure> connect(link::attach message, bool is_starting) override {
    auto socket = connect_unix(shared_->settings.home / directory_ / "kernel.sock");
    if (!socket) return failure{"connect: errno " + std::to_string(socket.error()), socket.error() == EAGAIN};
    if (!is_trusted_peer(socket->get())) return failure{"another user listens on its socket"};
    // Before it is told the token. Proves nothing of the kernel, which may live on behind a socket file that was replaced.
    if (!is_starting && is_other_peer(socket->get(), process_))
      return failure{"another process listens on its socket; put the kernel's own kernel.sock back"};
    link_.open(std::move(*socket), message);
    return std::nullopt;
  }

  std::optional<milliseconds> hello_patience() const override { return shared_->settings.scaled(shared_->settings.hello_deadline); }

  process_state inspect() const override { return holdfast::inspect(process_); }
  milliseconds attach_budget() const override { return shared_->settings.scaled(shared_->settings.attach_budget); }

  // Without an identified process there is nothing that may be signalled.
  bool signal(int number) override { return watch_ && watch_.send_signal(number); }
  void stop_watching() override { watch_.cancel(); }

  void ask_exit(kernel_id const& kernel, nursery_id const& nursery, std::string const& state) override {
    self_->send(shared_->environment_of("local"),
                env::await_exit{caf::actor_cast<caf::actor>(self_), kernel, nursery, process_, state});
  }

 private:
  caf::io::broker* self_;
  shared_context shared_;
  std::string directory_;  // relative to the home
  std::function<void()> on_gone_;
  storage::process_identity process_;
  link::socket_link link_;
  process_watch watch_;
};

}  // namespace

std::unique_ptr<kernel_reach> reach_locally(caf::io::broker* self, shared_context shared, reached_kernel of) {
  return std::make_unique<local_reach>(self, std::move(shared), std::move(of));
}

}  // namespace holdfast::core

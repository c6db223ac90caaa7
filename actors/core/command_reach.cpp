// A kernel behind commands: trips of a relay, signals and questions that run there, all through its environment's actor.
#include "actors/base/caf.hpp"
#include "actors/core/kernel_reach.hpp"
#include "actors/link/relay_link.hpp"

namespace holdfast::core {

namespace {

class command_reach final : public kernel_reach {
 public:
  command_reach(caf::io::broker* self, shared_context shared, caf::actor environment, reached_kernel of)
      : self_(self),
        shared_(std::move(shared)),
        environment_(std::move(environment)),
        name_(of.row.environment),
        kernel_(of.row.kernel),
        process_(of.row.process),
        link_(of.row.last_seq, [this](link::relay_link::trip next) { start(std::move(next)); }) {}

  link::transport& link() override { return link_; }

  bool identify(storage::process_identity const& process) override {
    process_ = process;
    return true;  // its own host knows
  }

  std::optional<failure> connect(link::attach message, bool) override {
    if (!environment_) return failure{"nobody has registered its environment " + name_};
    message.token.clear();  // it lies there
    link_.open(std::move(message));
    return std::nullopt;
  }

  /// It ends itself when nobody has attached for its grace; what is out of reach until then may come back.
  milliseconds attach_budget() const override {
    return shared_->settings.scaled(shared_->settings.grace) + shared_->settings.scaled(defaults::host_margin);
  }

  bool signal(int number) override {
    if (!environment_ || process_.pid == 0) return false;
    self_->send(environment_, env::signal_process{caf::actor_cast<caf::actor>(self_), kernel_, process_, number});
    return true;
  }

  void stop_watching() override {}

  void ask_exit(kernel_id const& kernel, nursery_id const& nursery, std::string const& state) override {
    self_->send(environment_, env::await_exit{caf::actor_cast<caf::actor>(self_), kernel, nursery, process_, state});
  }

  void flush() override { link_.pump(); }

  std::vector<link::event> on_carried(env::carried answer) override {
    if (newest_.begin && answer.trip == newest_.number) count_wait();
    return link_.on_brought(answer.trip, std::move(answer.outcome));
  }

  /// The newest trip carries all that is not known to have arrived, so that what waits is waiting with it.
  steady_time::duration waited() const override {
    if (!newest_.begin) return waited_;
    return waited_ + (newest_.begin->taken_at().value_or(std::chrono::steady_clock::now()) - newest_.started_at);
  }

  std::optional<milliseconds> look_after() const override {
    if (!link_.is_attached() || link_.is_underway()) return std::nullopt;
    auto const& settings = shared_->settings;
    auto const within_grace = settings.scaled_delay(settings.grace) / defaults::grace_looks;
    return link_.has_jobs() ? std::min(settings.scaled_delay(defaults::jobs_look), within_grace) : within_grace;
  }

  void look() override { link_.look(); }

 private:
  void start(link::relay_link::trip next) {
    auto const is_urgent = link_.is_underway_beside(next.number);
    count_wait();
    newest_ = {next.number, std::chrono::steady_clock::now(), std::make_shared<env::command_start>()};
    // It tells the kernel what became of its frames, and gives it cells.
    shared_->send_to_environment(
        name_, env::carry{caf::actor_cast<caf::actor>(self_), kernel_, process_, std::move(next), is_urgent, newest_.begin});
  }

  void count_wait() {
    waited_ = waited();
    newest_.begin.reset();
  }

  caf::io::broker* self_;
  shared_context shared_;
  caf::actor environment_;
  std::string name_;
  kernel_id kernel_;
  storage::process_identity process_;
  link::relay_link link_;
  struct {
    std::uint64_t number = 0;
    steady_time started_at{};
    std::shared_ptr<env::command_start> begin;  // empty: it is over
  } newest_;                                    // of the trips
  steady_time::duration waited_{0};             // of all before it
};

}  // namespace

std::unique_ptr<kernel_reach> reach_by_commands(caf::io::broker* self, shared_context shared, caf::actor environment,
                                                reached_kernel of) {
  return std::make_unique<command_reach>(self, std::move(shared), std::move(environment), std::move(of));
}

}  // namespace holdfast::core

#include "actors/front/runtime.hpp"

#include <caf/scoped_actor.hpp>

#include "actors/base/home.hpp"
#include "actors/front/metrics_server.hpp"
#include "actors/front/unix_server.hpp"

namespace holdfast::front {
namespace {

constexpr std::chrono::seconds farewell{2};  // unscaled: how long the server may write to clients that do not read

call_defaults defaults_of(config const& settings) {
  return {.cell_timeout = settings.cell_timeout, .background_after = settings.background_after};
}

}  // namespace

result<std::unique_ptr<runtime>> runtime::start(options given) {
  if (auto prepared = prepare_home(given.settings.home); !prepared) return tl::unexpected(std::move(prepared.error()));
  std::unique_ptr<runtime> made(new runtime());
  made->system_ = std::make_unique<caf::actor_system>(made->actor_config_);
  auto core = given.start_core ? given.start_core(*made->system_, given.settings)
                               : start_real_core(*made->system_, given.settings, given.environments);
  if (!core) return tl::unexpected(std::move(core.error()));
  made->core_ = std::move(*core);
  auto const ended = [raw = made.get()](std::optional<error> const& why) { raw->on_ended(why); };
  {
    std::lock_guard const lock(made->mutex_);
    made->api_ = start_api_front(*made->system_, {made->core_, defaults_of(given.settings), ended});
  }
  if (given.settings.metrics_listen != "off") {
    auto metrics = start_metrics_server(*made->system_, made->core_, given.settings.metrics_listen, ended);
    if (!metrics) return tl::unexpected(std::move(metrics.error()));  // the destructor ends what runs already
    made->adopt(made->metrics_, std::move(*metrics));
  }
  if (!given.listen) return made;

  server_options server;
  server.socket = given.settings.home / "holdfast.sock";
  server.core = made->core_;
  server.calls = defaults_of(given.settings);
  server.line_deadline = given.settings.scaled(defaults::line_deadline);
  server.farewell = given.settings.scaled(farewell);
  server.on_ended = ended;
  auto started = start_unix_server(*made->system_, std::move(server));
  if (!started) return tl::unexpected(std::move(started.error()));
  made->adopt(made->server_, std::move(*started));
  return made;
}

void runtime::adopt(caf::actor& place, caf::actor front) {
  std::lock_guard const lock(mutex_);
  place = std::move(front);
  if (is_ended_) caf::anon_send(place, gateway_ended{});
}

runtime::~runtime() {
  if (!api_) return;  // the core did not start
  stop(false);
  {
    caf::scoped_actor self(*system_);
    for (auto const& front : {api_, server_, metrics_})
      if (front) self->wait_for(front);
  }
  api_ = server_ = metrics_ = nullptr;
  core_.reset();
}

void runtime::call(std::string method, boost::json::object params, on_outcome done, on_notified notified) {
  send({std::move(method), std::move(params), std::move(done), std::move(notified), false});
}

void runtime::subscribe(boost::json::object params, on_outcome done, on_notified notified) {
  send({"event.subscribe", std::move(params), std::move(done), std::move(notified), true});
}

void runtime::send(api_call call) {
  std::lock_guard const lock(mutex_);
  // Sent later it could lie in the mailbox of an actor that has quit, and nobody would hear of it.
  if (!is_ended_) caf::anon_send(api_, std::move(call));
}

void runtime::stop(bool end_kernels) {
  {
    std::lock_guard const lock(mutex_);
    if (is_ended_) return;
  }
  // A refusal means that somebody else's shutdown is under way: its end is waited for as well.
  call("shutdown", {{"kernels", end_kernels}}, [](auto const&) {});
  (void)wait_until_ended();
}

result<void> runtime::wait_until_ended() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_ended_; });
  if (why_ended_) return tl::unexpected(*why_ended_);
  return {};
}

void runtime::on_ended(std::optional<error> const& why) {
  std::lock_guard const lock(mutex_);
  if (is_ended_) return;
  is_ended_ = true;
  why_ended_ = why;
  // The core tells the front that asked; the other one hears it from here.
  for (auto const& front : {api_, server_, metrics_})
    if (front) caf::anon_send(front, gateway_ended{});
  changed_.notify_all();
}

}  // namespace holdfast::front

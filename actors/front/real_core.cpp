// The core of this process behind core_port.
#include "actors/core/gateway_core.hpp"
#include "actors/front/runtime.hpp"

namespace holdfast::front {
namespace {

class real_core final : public core_port {
 public:
  /// Nothing is routed before that.
  void begin(std::shared_ptr<core::running> running) { running_ = std::move(running); }

  void route(session_call call) override { core::route(*running_, std::move(call)); }
  void route(supervisor_call call) override { core::route(*running_, std::move(call)); }
  void route(connection_closed closed) override { core::route(*running_, std::move(closed)); }

 private:
  std::shared_ptr<core::running> running_;
};

}  // namespace

result<core_handle> start_real_core(caf::actor_system& system, config const& settings,
                                    std::vector<env::exec_registration> const& environments) {
  auto made = std::make_shared<real_core>();
  auto running = core::start(system, settings, made->clients, environments);
  if (!running) return tl::unexpected(std::move(running.error()));
  made->begin(std::move(*running));
  return made;
}

}  // namespace holdfast::front

#include "actors/base/caf.hpp"

#include <future>
#include <thread>

#include <caf/io/middleman.hpp>
#include <catch2/catch.hpp>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

/// Says when the actor that holds it is destroyed, not only ended.
struct lifetime {
  std::shared_ptr<std::promise<void>> ended;
  ~lifetime() { ended->set_value(); }
};

struct quit_now {};

}  // namespace

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quit_now)

TEST_CASE("a broker that quits while its alarm is set is destroyed once the alarm has come") {
  system_config config;
  caf::actor_system system(config);
  auto const ended = std::make_shared<std::promise<void>>();
  auto const destroyed = ended->get_future();
  auto broker = system.middleman().spawn_broker([ended](caf::io::broker* self) -> caf::behavior {
    // A handler, unlike the behavior, goes with the actor itself.
    auto const kept = std::shared_ptr<lifetime>(new lifetime{ended});
    self->set_exception_handler([kept](caf::scheduled_actor*, std::exception_ptr&) -> caf::error { return {}; });
    auto wake = std::make_shared<holdfast::alarm>();
    wake->at(self, std::chrono::steady_clock::now() + 20ms);
    return {[=](quit_now) { self->quit(); }, [](wake_up const&) {}};
  });
  caf::anon_send(broker, quit_now{});
  broker = nullptr;

  CHECK(destroyed.wait_for(10s) == std::future_status::ready);
}

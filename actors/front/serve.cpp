#include "actors/front/serve.hpp"

#include "actors/front/runtime.hpp"

namespace holdfast::front {

result<void> serve(config const& settings, std::function<void(std::function<void()> stop)> const& on_ready) {
  auto started = runtime::start({settings, true, {}});
  if (!started) return tl::unexpected(std::move(started.error()));
  auto& running = **started;
  if (on_ready) on_ready([&running] { running.call("shutdown", {}, [](auto const&) {}); });
  return running.wait_until_ended();
}

}  // namespace holdfast::front

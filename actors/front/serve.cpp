#include "actors/front/serve.hpp"

#include <sys/resource.h>

#include "actors/front/runtime.hpp"

namespace holdfast::front {
namespace {

/// Connections and kernels each take a descriptor; the soft limit is often 1,024.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == -1) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

result<void> serve(config const& settings, std::function<void(std::function<void()> stop)> const& on_ready) {
  raise_descriptor_limit();
  auto started = runtime::start({settings, true, {}});
  if (!started) return tl::unexpected(std::move(started.error()));
  auto& running = **started;
  if (on_ready) on_ready([&running] { running.call("shutdown", {}, [](auto const&) {}); });
  return running.wait_until_ended();
}

}  // namespace holdfast::front

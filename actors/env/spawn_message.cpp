#include "actors/env/spawn_message.hpp"

#include "actors/base/defaults.hpp"

namespace holdfast::env {

link::spawn spawn_message(spawn_kernel const& request, config const& settings, variables const& gateway,
                          std::string const& home_id) {
  link::spawn message;
  message.kernel = request.kernel;
  message.token = request.token;
  message.home = home_id;
  message.directory = (settings.home / request.directory).string();
  message.env = kernel_variables(gateway, settings.pass_env, request.variables);
  message.cwd = request.cwd;
  if (message.cwd.empty()) message.cwd = message.env.contains("HOME") ? message.env.at("HOME") : "/";
  message.grace_ms = static_cast<std::uint64_t>(settings.scaled(settings.grace).count());
  message.first_grace_ms = static_cast<std::uint64_t>(settings.scaled(defaults::first_grace).count());
  message.interrupt_grace_ms = static_cast<std::uint64_t>(settings.interrupt_grace.count());
  message.failpoints = settings.failpoints;
  message.state = (settings.home / request.state).string();
  message.tools = request.tools;
  if (!message.tools.empty()) message.tools_module = settings.tools_module;
  return message;
}

}  // namespace holdfast::env

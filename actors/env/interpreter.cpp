#include "actors/env/interpreter.hpp"

#include <unistd.h>

#include "actors/base/spawn_process.hpp"

namespace holdfast::env {

result<std::filesystem::path> find_interpreter(std::string const& wanted, config const& settings, variables const& gateway,
                                               variables const& session) {
  auto const own = kernel_variables(gateway, settings.pass_env, session);
  auto const path = own.find("PATH");
  auto const& name = wanted.empty() ? settings.python : wanted;
  auto found = find_program(name, path == own.end() ? "/usr/bin:/bin" : path->second);
  auto const is_path = name.find('/') != std::string::npos;
  if (!found.empty() && ::access(found.c_str(), X_OK) == 0) return found;
  return fail(error_code::start_failed,
              "cannot find the interpreter " + name + (is_path ? "" : " on PATH") + "; name one that is there with python");
}

}  // namespace holdfast::env

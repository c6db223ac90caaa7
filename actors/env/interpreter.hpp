// Which file an interpreter's name stands for. Looks at the file system, starts nothing: that it is a python shows when it runs.
#pragma once

#include <filesystem>
#include <string>

#include "actors/base/config.hpp"
#include "actors/base/errors.hpp"
#include "actors/env/variables.hpp"

namespace holdfast::env {

/// `wanted` is a path or a name on the PATH of that session's kernels; empty: the configured one. `start_failed` if there is none.
result<std::filesystem::path> find_interpreter(std::string const& wanted, config const& settings, variables const& gateway,
                                               variables const& session);

}  // namespace holdfast::env

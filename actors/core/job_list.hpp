// The jobs of all sessions, made from the stores alone.
#pragma once

#include <string>

#include "actors/core/context.hpp"

namespace holdfast::core {

/// `{items, next}` of job rows, newest first.
result<std::string> list(context const& shared, list_jobs const& what);

}  // namespace holdfast::core

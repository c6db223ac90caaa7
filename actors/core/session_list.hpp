// The sessions of the home: those that are loaded as their actors have them, the others from the stores.
#pragma once

#include <string>

#include "actors/core/context.hpp"

namespace holdfast::core {

/// `{items, next}` of session rows, newest first. Looks through list_looks_most rows of the stores at most: a page may be short.
result<std::string> list(context const& shared, list_sessions const& what);

}  // namespace holdfast::core

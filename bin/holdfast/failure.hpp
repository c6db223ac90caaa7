// Shows an error: one line for a human on stderr; with --json also the one document, {"error": {code, message, data}}, on stdout.
#pragma once

#include "actors/base/errors.hpp"

namespace holdfast::cli {

/// Returns the exit code for it.
int show_failure(error const& problem, bool json);

}  // namespace holdfast::cli

// Shows an error: one line for a human on stderr; with --json also the one document, {"error": {code, message, data}}, on stdout.
#pragma once

#include <boost/json/object.hpp>

#include "actors/base/errors.hpp"

namespace holdfast::cli {

/// Returns the exit code for it.
int show_failure(error const& problem, bool json);

/// The refusal of a request with these params. A cell that is not in the session "default" was perhaps run in another one, which whoever
/// copies its id forgets to name: that is said.
error with_hint(error problem, boost::json::object const& params);

}  // namespace holdfast::cli

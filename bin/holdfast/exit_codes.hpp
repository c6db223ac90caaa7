// What the executable's exit code says. The table of the contract, in one place: help, commands and tests read it here.
#pragma once

#include <boost/json/object.hpp>

#include "actors/base/errors.hpp"

namespace holdfast::cli {

enum exit_code : int {
  exit_ok = 0,          // ok, or accepted
  exit_cell_error = 1,  // the cell raised
  exit_usage = 2,       // the command line, or a parameter that the daemon does not take
  exit_no_service = 3,  // no daemon answers, and none could be started
  exit_refused = 4,     // the daemon refused: nothing ran
  exit_lost = 5,        // what became of the cell cannot be known
  exit_running = 6,     // the cell goes on; this command does not wait for it any longer
  exit_output = 7,      // done, but standard output could not be written
  exit_timeout = 124,   // the cell's deadline
  exit_interrupted = 130,
};

/// For a cell's result object. A cell that ended by SystemExit gives its own code (the low 8 bits, as a shell sees them).
int code_of_result(boost::json::object const& result);

/// For an error that a daemon, or the way to it, answered.
int code_of_error(error const& problem);

}  // namespace holdfast::cli

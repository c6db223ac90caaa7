// Follows one cell to its end over any number of connections and daemons: what run, wait and logs -f share.
// follow_steps.hpp decides; this carries out. It refuses to run anything twice: the cell's id goes with every request.
#pragma once

#include <filesystem>
#include <string>

#include <boost/json/object.hpp>

#include "bin/holdfast/arguments.hpp"
#include "bin/holdfast/cell_view.hpp"
#include "bin/holdfast/follow_steps.hpp"

namespace holdfast::cli {

struct follow_request {
  std::filesystem::path home;
  std::string home_flag;  // as it was given, for "how to come back"
  scope where;
  std::string cell;
  bool json = false;
  /// The params of `run` (with the cell's id); empty when the cell exists already.
  boost::json::object run_params;
  /// Leaves `python` out of run_params unless the session is new: a kernel is kept although this shell has another python.
  bool python_for_new_session = false;
  cell_view::mode shows = cell_view::mode::everything;
  follow_state state;  // may_run, detaches and interrupts_cell are set
};

/// Returns the exit code, everything being shown.
int follow(follow_request request);

}  // namespace holdfast::cli

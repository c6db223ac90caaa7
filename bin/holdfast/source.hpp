// Where a cell's code comes from: the command line, a file, or standard input. At most 1 MiB, UTF-8.
#pragma once

#include <string>

#include "actors/base/errors.hpp"
#include "bin/holdfast/arguments.hpp"

namespace holdfast::cli {

/// `invalid_params` naming the file and what is wrong with it.
result<std::string> read_source(run_arguments const& given);

}  // namespace holdfast::cli

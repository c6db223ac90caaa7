// Writes to this process's stdout and stderr, unbuffered, so that a cell's two streams keep their order.
// SIGPIPE is ignored in this process: a reader that has gone shows as false here, and nothing more is written to it.
#pragma once

#include <string_view>

namespace holdfast::cli {

/// All of it, waiting for a slow reader. False once nobody reads (or it cannot be written): the caller stops.
bool write_out(std::string_view text);
/// The same for stderr; that nobody reads it is nobody's loss.
void write_err(std::string_view text);
/// "holdfast: TEXT" on stderr, one line.
void complain(std::string_view text);

}  // namespace holdfast::cli

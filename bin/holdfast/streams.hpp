// Writes to this process's stdout and stderr, unbuffered, so that a cell's two streams keep their order.
// SIGPIPE is ignored in this process: a reader that has gone shows as false here, and nothing more is written to it.
#pragma once

#include <string_view>

namespace holdfast::cli {

/// Takes the descriptors 0, 1 and 2 that are closed, so that no socket or file gets one and what is meant for a terminal: reading and
/// writing them goes on to fail. To be called before anything is opened.
void hold_standard_streams();

/// All of it, waiting for a slow reader. False once nobody reads (or it cannot be written): the caller stops.
bool write_out(std::string_view text);
/// Why write_out first failed, as errno; 0: it never did, or its reader has gone, which is no failure of ours.
int out_problem();
/// The same for stderr; that nobody reads it is nobody's loss.
void write_err(std::string_view text);
/// "holdfast: TEXT" on stderr, one line.
void complain(std::string_view text);

}  // namespace holdfast::cli

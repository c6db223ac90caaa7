// The wall clock as records and clients see it, and the ids that are made from it. Deadlines use steady_clock, not this.
#pragma once

#include <string>

#include "storage/records.hpp"

namespace holdfast {

storage::unix_ms now_ms();
/// UTC with milliseconds, such as "2026-01-31T12:00:00.000Z".
std::string rfc3339(storage::unix_ms at);
/// 26 characters; a later one of this process compares greater, also within a millisecond and after the clock was set back.
std::string make_ulid();

}  // namespace holdfast

// Moves at opening what ends in `disk` and is still in `boot`: disk first, then erased from boot, in bounded transactions.
// A move cut short is done again by the next opening; doing it twice changes nothing.
#pragma once

#include <functional>
#include <string_view>

#include "storage/environment.hpp"

namespace holdfast::storage {

/// finished: session rows, final cells, tombstones, notices; open cells are copied and stay. all_cells: open ones move too, for a home
/// that must not send them any more.
enum class moved_rows { finished, all_cells };

/// `between_steps` is asked when rows are in `disk` and not yet erased from `boot`; true makes the move fail there.
result<void> move_to_disk(environment const& boot, environment const& disk, moved_rows which,
                          std::function<bool()> const& between_steps);

/// Finishes the erasure of sessions that are doomed in either store, in both.
result<void> finish_doomed(environment const& boot, environment const& disk);

}  // namespace holdfast::storage

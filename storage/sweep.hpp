// Erases what a doomed session left, in transactions of bounded size. A sweep cut short is finished at the next opening.
#pragma once

#include "storage/transaction.hpp"

namespace holdfast::storage {

inline constexpr std::size_t rows_per_sweep = 4096;

/// Erases at most `budget` rows of the session and takes them off it; answers whether none is left.
bool sweep_session(write_transaction& in, session_number session, std::size_t& budget);

}  // namespace holdfast::storage

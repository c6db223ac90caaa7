// What a change does to the rows of one store. Keeps what FORMAT.md promises within a store: I2, I3, I7, I8, I10 to I14.
// The same changes go to either store; only a withdrawn notice differs, which leaves a mark in `boot`. Never commits.
#pragma once

#include <span>

#include "storage/codecs.hpp"
#include "storage/transaction.hpp"

namespace holdfast::storage {

enum class role { boot, disk };

/// Tombstones of a session beyond this are erased, oldest first.
inline constexpr std::uint64_t tombstones_per_session = 100'000;

/// Ended jobs of a session beyond this are erased, oldest first.
inline constexpr std::size_t jobs_kept = 256;

void apply(write_transaction& in, role store, change const& what);
void apply(write_transaction& in, role store, std::span<change const> all);

/// Writes the tombstone of an expired cell that another store holds.
void apply_tombstone(write_transaction& in, expired_cell const& cell, digest const& code);

}  // namespace holdfast::storage

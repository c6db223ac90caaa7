// Which kernels are ended to make room or for their age, in which order, and may another one be started? The supervisor's rules as
// functions over values: kernel_keeper.cpp gathers the values and carries out what is decided. The supervisor proposes: the session of a
// kernel refuses when it is busy. Refuses to know of actors, clocks and processes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "storage/records.hpp"

namespace holdfast::core {

/// Limits of the configuration; 0: none.
struct kernel_limits {
  std::size_t kernels = 0;            // soft: over it idle ones are hibernated
  std::size_t kernels_hard = 0;       // of all owners
  std::size_t kernels_per_owner = 0;  // its children's included
  std::uint64_t memory_bytes = 0;     // resident, of all kernels
  std::int64_t idle_ms = 0;           // from the end of a kernel's last cell
  std::int64_t upgrade_ms = 0;        // the same, before a stale kernel is replaced
};

/// A kernel as the rules look at it. What it points to outlives the decision.
struct candidate {
  std::string_view kernel;
  std::string_view owner;
  storage::unix_ms idle_since = 0;     // the end of its last cell or job
  storage::unix_ms save_again_at = 0;  // a save failed: it is not tried again before; 0: none did
  std::uint64_t memory_bytes = 0;      // 0: it takes none of this machine, and its end makes no room for memory
  std::size_t live_jobs = 0;
  bool is_busy = false;            // a cell of it runs or is queued, or its namespace is being restored
  bool is_asked_for = false;       // a cell that is not accepted yet waits for it
  bool is_pinned = false;          // a child's, from its first cell on
  bool is_stale = false;           // it runs another version of the program than fresh ones do
  bool is_sought = false;          // an earlier daemon had it, and it has neither answered this one nor kept it waiting for long
  bool is_starting = false;        // it was not attached yet, or is not now: nothing can be saved of it
  bool is_being_ended = false;     // counted as gone
  bool is_wholly_saveable = true;  // as far as is known: false once a snapshot has left names out, until its next cell
};

enum class eviction_reason : std::uint8_t { idle, cap, memory, upgraded };
/// The word in rows, events and notices.
constexpr std::string_view to_string(eviction_reason reason) {
  constexpr std::array<std::string_view, 4> words = {"idle", "cap", "memory", "upgraded"};
  return words[static_cast<std::size_t>(reason)];
}

struct victim {
  std::size_t at = 0;  // among the candidates
  eviction_reason reason = eviction_reason::cap;
  bool even_in_part = false;  // it is ended also if some of its names cannot be saved
};

/// Which kernels are to be hibernated now: first stale ones, whole or not at all, then those that make room, then those over their idle
/// limit; each kind least recently used first, of equal ages the lower id, and those that cannot be saved whole after all others.
/// `waiting`: the owners of those who wait for a kernel, in order of arrival. Busy, asked for, starting ones and those with live jobs are
/// never among them; pinned ones for their age only.
std::vector<victim> choose_victims(std::span<candidate const> all, std::span<std::string_view const> waiting,
                                   kernel_limits const& limits, storage::unix_ms now);

/// For each of them the place in which it would be taken to make room, 1 being the first, stale ones before others; 0: it would not.
std::vector<std::size_t> victim_ranks(std::span<candidate const> all);

/// When to look again though nothing has happened: the earliest moment at which one of them reaches its idle limit, is to be upgraded, or
/// may be saved again; at the latest when one that becomes idle now would. 0: never.
storage::unix_ms next_look(std::span<candidate const> all, kernel_limits const& limits, storage::unix_ms now);

/// Why another kernel may not be started now.
enum class shortage : std::uint8_t { none, kernels, of_owner, memory };

struct occupancy {
  std::size_t kernels = 0;         // of all, those that start or end included
  std::size_t of_owner = 0;        // of the owner that wants another one
  std::uint64_t memory_bytes = 0;  // of all
};
/// A kernel alone is never too large: while none takes memory, one may always be started.
shortage shortage_of(occupancy const& there, kernel_limits const& limits);

}  // namespace holdfast::core

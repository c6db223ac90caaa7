// The tables of a store by name. FORMAT.md gives their keys and values.
#pragma once

#include <array>
#include <cstdint>

namespace holdfast::storage {

enum class table : std::uint8_t {
  meta,
  sessions,
  session_keys,
  owners,
  cells,
  cell_ids,
  open_cells,
  expired_cells,
  outbox,
  links,
  nurseries,
  notices,
  jobs,
  job_ids,
  saved,
  doomed,
};

inline constexpr std::array table_names{"meta",       "sessions",      "session_keys", "owners", "cells",     "cell_ids",
                                        "open_cells", "expired_cells", "outbox",       "links",  "nurseries", "notices",
                                        "jobs",       "job_ids",       "saved",        "doomed"};
inline constexpr std::size_t table_count = table_names.size();
static_assert(table_count == static_cast<std::size_t>(table::doomed) + 1);

inline constexpr char const* name_of(table which) { return table_names[static_cast<std::size_t>(which)]; }

}  // namespace holdfast::storage

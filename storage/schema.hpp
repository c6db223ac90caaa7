// The schema's version and the opening of all tables. Tables are opened once, in one transaction, as LMDB wants it.
#pragma once

#include <cstdint>
#include <optional>

#include "storage/environment.hpp"

namespace holdfast::storage {

inline constexpr std::uint32_t schema_version = 1;

/// Opens meta and looks at its schema, writing nothing: nothing for a store that is new and empty; `newer`, or `damaged` if there are
/// tables but not ours.
result<std::optional<std::uint32_t>> look_at_schema(environment& store);

/// Creates what tables are missing, opens all, and records the schema. Only after look_at_schema() found nothing or our version.
result<void> open_tables(environment& store);

}  // namespace holdfast::storage

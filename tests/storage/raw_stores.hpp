// Both stores opened below stores.hpp: what is really in the tables, before opening moves anything.
#pragma once

#include <memory>

#include "storage/schema.hpp"
#include "storage/transaction.hpp"
#include "tests/storage/fixture.hpp"

namespace holdfast::storage {

inline std::unique_ptr<environment> open_raw(std::filesystem::path const& directory) {
  auto store = taken(environment::open(directory, durability::unsynced, std::size_t{1} << 30));
  taken(look_at_schema(*store));
  taken(open_tables(*store));
  return store;
}

inline std::uint64_t rows_in(environment const& store, table of) {
  read_transaction in(store);
  auto const count = in.count(of);
  return taken(in.finish(count));
}

/// Rows of all tables but meta.
inline std::uint64_t rows_in(environment const& store) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < table_count; ++i)
    if (static_cast<table>(i) != table::meta) count += rows_in(store, static_cast<table>(i));
  return count;
}

}  // namespace holdfast::storage

#include "storage/schema.hpp"

#include <string>

#include <lmdb.h>

#include "storage/codecs.hpp"
#include "storage/transaction.hpp"

namespace holdfast::storage {

result<std::optional<std::uint32_t>> look_at_schema(environment& store) {
  using found = std::optional<std::uint32_t>;
  read_transaction in(store);
  if (in.broken()) return in.finish(found{});
  MDB_dbi meta = 0;
  auto const code = mdb_dbi_open(in.handle(), name_of(table::meta), 0, &meta);
  if (code == MDB_NOTFOUND) {
    MDB_stat main{};
    mdb_env_stat(store.handle(), &main);
    if (main.ms_entries == 0) return found{};
    return tl::unexpected(failure{failure_code::damaged, "cannot open the store " + store.directory().string() +
                                                             ": found tables but no meta, so it is not a store of this kind; "
                                                             "move it away to begin anew"});
  }
  if (code != 0) return tl::unexpected(failure_of(code, "cannot open the tables of", store.directory()));
  store.set_handle(table::meta, meta);
  auto const version = in.find<schema_codec>(schema_codec::name);
  if (!version && !in.broken()) in.fail(damaged_row(name_of(table::meta), schema_codec::name, store.directory()));
  if (version && *version > schema_version)
    in.fail(failure{failure_code::newer, "cannot open the store " + store.directory().string() + ": found schema " +
                                             std::to_string(*version) + ", wanted at most " + std::to_string(schema_version) +
                                             "; use the newer version that wrote it"});
  in.keep_opened_tables();
  return in.finish(found{version});
}

result<void> open_tables(environment& store) {
  write_transaction in(store);
  if (in.broken()) return std::move(in).commit();
  for (std::size_t i = 0; i < table_count; ++i) {
    MDB_dbi handle = 0;
    if (auto code = mdb_dbi_open(in.handle(), table_names[i], MDB_CREATE, &handle); code != 0) {
      in.fail(code, "cannot open the tables of");
      return std::move(in).commit();
    }
    store.set_handle(static_cast<table>(i), handle);
  }
  if (!in.has(table::meta, schema_codec::name)) in.put<schema_codec>(schema_codec::name, schema_version);
  return std::move(in).commit();
}

}  // namespace holdfast::storage

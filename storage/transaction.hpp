// Transactions on one environment: a reader sees one snapshot; a writer commits all or nothing. A writer cannot be had from a reader.
// The first failure sticks: later reads find nothing, later writes do nothing, and commit() or finish() answers it. So code that reads
// or writes runs straight on, and no failure is lost. Views that a transaction gives end with it, or with its next write.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "storage/environment.hpp"
#include "storage/row_frame.hpp"

struct MDB_txn;
struct MDB_cursor;

namespace holdfast::storage {

class transaction {
 public:
  transaction(transaction const&) = delete;
  transaction& operator=(transaction const&) = delete;

  /// The bytes under a key, if any.
  std::optional<std::string_view> get(table from, std::string_view key);
  bool has(table from, std::string_view key) { return get(from, key).has_value(); }
  /// The decoded row under a key, if any; one that does not decode fails this transaction as damaged.
  template <class Codec>
  std::optional<typename Codec::row> find(std::string_view key) {
    auto const bytes = get(Codec::in, key);
    if (!bytes) return std::nullopt;
    return decoded<Codec>(key, *bytes);
  }
  template <class Codec>
  std::optional<typename Codec::row> decoded(std::string_view key, std::string_view value) {
    auto row = decode<Codec>(key, value);
    if (!row) damaged(Codec::in, key);
    return row;
  }
  /// The number of rows in a table, without counting.
  std::uint64_t count(table in);

  bool broken() const { return failure_.has_value(); }
  environment const& of() const { return *environment_; }
  MDB_txn* handle() const { return handle_; }
  /// Makes `why` the failure, unless there is one.
  void fail(failure why);
  void fail(int code, std::string_view what) { fail(failure_of(code, what, environment_->directory())); }

 protected:
  explicit transaction(environment const& of) : environment_(&of) {}
  ~transaction();  // abandons what was not committed
  void begin(unsigned flags);
  void damaged(table in, std::string_view key) { fail(damaged_row(name_of(in), key, environment_->directory())); }

  environment const* environment_;
  MDB_txn* handle_ = nullptr;  // null after commit, or if begin failed
  std::optional<failure> failure_;
};

class read_transaction : public transaction {
 public:
  explicit read_transaction(environment const& of);

  /// Ends the snapshot and keeps the tables that were opened in it, which its destructor would close. For schema.cpp alone.
  void keep_opened_tables();

  /// `value`, unless anything before failed.
  template <class T>
  result<T> finish(T value) {
    if (failure_) return tl::unexpected(std::move(*failure_));
    return result<T>(std::move(value));
  }
};

class write_transaction : public transaction {
 public:
  /// Blocks while another thread writes to the same environment.
  explicit write_transaction(environment const& of);

  template <class Codec>
  void put(std::string_view key, typename Codec::row const& row) {
    encode<Codec>(key, row, scratch_);
    put_bytes(Codec::in, key, scratch_);
  }
  void put_bytes(table into, std::string_view key, std::string_view value);
  /// Erasing what is not there is no failure.
  void erase(table from, std::string_view key);
  void clear(table all_of);

  /// All or nothing. The transaction is over either way.
  result<void> commit() &&;

 private:
  std::string scratch_;  // the value being put; kept for its capacity
};

/// Walks a table in the order of its keys. Must end before its transaction.
class cursor {
 public:
  cursor(transaction& in, table of);
  ~cursor();
  cursor(cursor const&) = delete;
  cursor& operator=(cursor const&) = delete;

  // Each answers whether it stands on a row.
  bool first();
  bool last();
  bool next();
  bool previous();
  /// The first row at or above `key`.
  bool at_least(std::string_view key);
  /// The last row below `key`.
  bool below(std::string_view key);

  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }
  /// The row it stands on; damage fails the transaction.
  template <class Codec>
  std::optional<typename Codec::row> row() {
    return in_.decoded<Codec>(key_, value_);
  }
  /// Erases the row it stands on. For write transactions only.
  void erase();

 private:
  bool move(int operation);

  transaction& in_;
  MDB_cursor* handle_ = nullptr;
  std::string_view key_;
  std::string_view value_;
};

}  // namespace holdfast::storage

#include "storage/transaction.hpp"

#include <cerrno>

#include <fcntl.h>
#include <lmdb.h>
#include <unistd.h>

namespace holdfast::storage {
namespace {

constexpr std::size_t key_limit = 511;

MDB_val value_of(std::string_view bytes) { return {bytes.size(), const_cast<char*>(bytes.data())}; }
std::string_view view_of(MDB_val const& value) { return {static_cast<char const*>(value.mv_data), value.mv_size}; }

// LMDB answers EIO when a write was cut short, which is what the last write to a file system that fills up is. What cut it short took
// all the room there was: a file next to it that gets none tells this from a failing disk. Without an answer it is the disk.
bool has_no_room(std::filesystem::path const& directory) {
  constexpr ::off_t wanted = 256 << 10;
  auto const probe = directory / "probe";
  int const file = ::open(probe.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return errno == ENOSPC || errno == EDQUOT;
  ::unlink(probe.c_str());
  int const code = ::posix_fallocate(file, 0, wanted);
  ::close(file);
  return code == ENOSPC || code == EDQUOT;
}

}  // namespace

void transaction::begin(unsigned flags) {
  if (auto code = mdb_txn_begin(environment_->handle(), nullptr, flags, &handle_); code != 0) {
    handle_ = nullptr;
    fail(code, "cannot begin a transaction in");
  }
}

transaction::~transaction() {
  if (handle_ != nullptr) mdb_txn_abort(handle_);
}

void transaction::fail(failure why) {
  if (!failure_) failure_ = std::move(why);
}

std::optional<std::string_view> transaction::get(table from, std::string_view key) {
  // LMDB calls a key of no or too many bytes an error; to a reader it is one that no row has.
  if (failure_ || key.empty() || key.size() > key_limit) return std::nullopt;
  MDB_val wanted = value_of(key);
  MDB_val found{};
  auto const code = mdb_get(handle_, environment_->handle_of(from), &wanted, &found);
  if (code == 0) return view_of(found);
  if (code != MDB_NOTFOUND) fail(code, "cannot read from");
  return std::nullopt;
}

std::uint64_t transaction::count(table in) {
  if (failure_) return 0;
  MDB_stat status{};
  if (auto code = mdb_stat(handle_, environment_->handle_of(in), &status); code != 0) fail(code, "cannot count in");
  return status.ms_entries;
}

read_transaction::read_transaction(environment const& of) : transaction(of) { begin(MDB_RDONLY); }

void read_transaction::keep_opened_tables() {
  if (failure_) return;
  if (auto code = mdb_txn_commit(std::exchange(handle_, nullptr)); code != 0) fail(code, "cannot open the tables of");
}

write_transaction::write_transaction(environment const& of) : transaction(of) { begin(0); }

void write_transaction::put_bytes(table into, std::string_view key, std::string_view bytes) {
  if (failure_) return;
  MDB_val where = value_of(key);
  MDB_val what = value_of(bytes);
  if (auto code = mdb_put(handle_, environment_->handle_of(into), &where, &what, 0); code != 0) fail(code, "cannot write to");
}

void write_transaction::erase(table from, std::string_view key) {
  if (failure_) return;
  MDB_val where = value_of(key);
  auto const code = mdb_del(handle_, environment_->handle_of(from), &where, nullptr);
  if (code != 0 && code != MDB_NOTFOUND) fail(code, "cannot erase from");
}

void write_transaction::clear(table all_of) {
  if (failure_) return;
  if (auto code = mdb_drop(handle_, environment_->handle_of(all_of), 0); code != 0) fail(code, "cannot empty");
}

result<void> write_transaction::commit() && {
  // Null before the call: LMDB frees the transaction whatever it answers, and a second abort would be a double free.
  auto* const ending = std::exchange(handle_, nullptr);
  if (failure_) {
    if (ending != nullptr) mdb_txn_abort(ending);
    return tl::unexpected(std::move(*failure_));
  }
  auto code = mdb_txn_commit(ending);
  if (code == 0) return {};
  if (code == EIO && has_no_room(environment_->directory())) code = ENOSPC;
  return tl::unexpected(failure_of(code, "cannot commit to", environment_->directory()));
}

cursor::cursor(transaction& in, table of) : in_(in) {
  if (in.broken()) return;
  if (auto code = mdb_cursor_open(in.handle(), in.of().handle_of(of), &handle_); code != 0) {
    handle_ = nullptr;
    in.fail(code, "cannot open a cursor in");
  }
}

cursor::~cursor() {
  if (handle_ != nullptr) mdb_cursor_close(handle_);
}

bool cursor::move(int operation) {
  if (handle_ == nullptr || in_.broken()) return false;
  MDB_val key = value_of(key_);
  MDB_val value{};
  auto const code = mdb_cursor_get(handle_, &key, &value, static_cast<MDB_cursor_op>(operation));
  if (code != 0) {
    if (code != MDB_NOTFOUND) in_.fail(code, "cannot walk");
    return false;
  }
  key_ = view_of(key);
  value_ = view_of(value);
  return true;
}

bool cursor::first() { return move(MDB_FIRST); }
bool cursor::last() { return move(MDB_LAST); }
bool cursor::next() { return move(MDB_NEXT); }
bool cursor::previous() { return move(MDB_PREV); }

bool cursor::at_least(std::string_view key) {
  if (key.empty()) return first();
  key_ = key;
  return move(MDB_SET_RANGE);
}

bool cursor::below(std::string_view key) { return at_least(key) ? previous() : last(); }

void cursor::erase() {
  if (handle_ == nullptr || in_.broken()) return;
  if (auto code = mdb_cursor_del(handle_, 0); code != 0) in_.fail(code, "cannot erase from");
}

}  // namespace holdfast::storage

// Both stores at one moment, read as one thing: where both have a row under a key, that of `boot` wins.
// `boot` is begun first: rows move by being committed to `disk` and then erased from `boot`, so what it lacks, `disk` has.
#pragma once

#include "storage/codecs.hpp"
#include "storage/keys.hpp"
#include "storage/transaction.hpp"

namespace holdfast::storage {

class snapshot {
 public:
  snapshot(environment const& of_boot, environment const& of_disk) : boot(of_boot), disk(of_disk) {}

  template <class Codec>
  std::optional<typename Codec::row> find(std::string_view key) {
    if (auto row = boot.find<Codec>(key)) return row;
    if (boot.broken()) return std::nullopt;  // damage in `boot` must not show an older row as the newest
    return disk.find<Codec>(key);
  }
  bool is_doomed(session_number session) {
    auto const key = key_of(session);
    return boot.has(table::doomed, key) || disk.has(table::doomed, key);
  }
  /// `value`, unless anything before failed.
  template <class T>
  result<T> finish(T value) {
    if (boot.broken()) return boot.finish(std::move(value));
    return disk.finish(std::move(value));
  }

  read_transaction boot;  // declared, and so begun, before `disk`
  read_transaction disk;
};

enum class order { ascending, descending };

/// Walks one table of both stores in the order of its keys; a key in both is met once, with the row of `boot`.
class merged_cursor {
 public:
  merged_cursor(snapshot& in, table of, order direction)
      : boot_(in.boot, of), disk_(in.disk, of), ascending_(direction == order::ascending) {}

  /// Ascending: stands on the first row at or above `key`. Descending: on the last one below it. Answers whether there is one.
  bool start(std::string_view key) {
    on_boot_ = ascending_ ? boot_.at_least(key) : boot_.below(key);
    on_disk_ = ascending_ ? disk_.at_least(key) : disk_.below(key);
    return choose();
  }
  bool next() {
    bool const both = on_boot_ && on_disk_ && boot_.key() == disk_.key();
    if (both || !from_boot_) on_disk_ = step(disk_);
    if (both || from_boot_) on_boot_ = step(boot_);
    return choose();
  }

  std::string_view key() const { return from_boot_ ? boot_.key() : disk_.key(); }
  template <class Codec>
  std::optional<typename Codec::row> row() {
    return from_boot_ ? boot_.row<Codec>() : disk_.row<Codec>();
  }

 private:
  bool step(cursor& walk) { return ascending_ ? walk.next() : walk.previous(); }
  bool choose() {
    if (!on_boot_ && !on_disk_) return false;
    from_boot_ = !on_disk_ || (on_boot_ && (ascending_ ? boot_.key() <= disk_.key() : boot_.key() >= disk_.key()));
    return true;
  }

  cursor boot_;
  cursor disk_;
  bool ascending_;
  bool on_boot_ = false;
  bool on_disk_ = false;
  bool from_boot_ = false;
};

}  // namespace holdfast::storage

// What a disk commit makes superfluous in `boot`: marks of withdrawn notices, moved session rows, marks of erased sessions.
// The store thread adds what it committed; the thread of `boot` takes it into its next commit. Lost in a crash, without harm: opening
// does the same.
#pragma once

#include <atomic>
#include <mutex>

#include "storage/transaction.hpp"

namespace holdfast::storage {

class settling {
 public:
  /// After a disk commit of `unit`.
  void add(changes const& unit);
  /// Erases what was added, at most `limit` things, where it is still what was committed. Answers how many: once the transaction is
  /// committed they are to be forgotten, else they are erased with the next one.
  std::size_t carry_out(write_transaction& in_boot, std::size_t limit = 256);
  void forget(std::size_t first);

 private:
  std::atomic<bool> waiting_{false};  // spares the lock on nearly every commit
  std::mutex mutex_;
  changes committed_;  // put_session, erase_session, erase_notice only
};

}  // namespace holdfast::storage

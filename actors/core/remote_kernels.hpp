// Which of the rows that sessions record concern kernels elsewhere? Those follow into `disk` (storage/remote_rows.hpp), as those kernels
// outlive the system of this machine. Pure: it is shown every unit that `boot` has taken, from the first link on.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "storage/remote_rows.hpp"

namespace holdfast::core {

class remote_kernels {
 public:
  /// Adds to `into` what of the unit is to follow; whether it concerns any kernel elsewhere.
  bool note(storage::changes const& unit, storage::unmoved_rows& into);

 private:
  using place = std::pair<session_number, std::uint32_t>;  // of a slot

  bool has_any(session_number session) const;
  bool concerns(storage::change const& what) const;
  void add(storage::change const& what, storage::unmoved_rows& into) const;

  // A cell is accepted for a kernel that has its link, and a job started in one: nothing else has to be known of either.
  std::map<kernel_id, place> linked_;
  std::multiset<place> slots_;  // of linked_
};

}  // namespace holdfast::core

// What a reader of a dead kernel's file could not use: spool.hpp and journal.hpp take what is whole and account for the rest.
#pragma once

#include <cstddef>
#include <string>

namespace holdfast::link {

struct left_out {
  std::size_t bytes = 0;  // of records that were announced and are not whole; 0: everything was read
  std::string reason;     // empty exactly when bytes is 0
};

}  // namespace holdfast::link

// The invariants of FORMAT.md, held against both stores as they lie there, before or after an opening.
#pragma once

#include <string>
#include <vector>

#include "storage/snapshot.hpp"

namespace holdfast::storage {

/// What is broken, each with its invariant's number; empty if all hold.
std::vector<std::string> broken_invariants(snapshot& in);

}  // namespace holdfast::storage

// Opens a home's two stores: directories, schema, identity, what the last life left to be moved. FORMAT.md, "Opening", in that order.
// When it fails with newer, damaged, denied or in_use, nothing of a store was changed.
#pragma once

#include "storage/environment.hpp"
#include "storage/stores.hpp"

namespace holdfast::storage {

struct open_home {
  opened found;
  std::unique_ptr<environment> disk;
  std::unique_ptr<environment> boot;
};

result<open_home> open_stores(options const& how);

}  // namespace holdfast::storage

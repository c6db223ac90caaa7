// Whether a home is the one its stores were written in, or a copy of it. Pure: what is recorded and what is are handed in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "storage/codecs.hpp"

namespace holdfast::storage {

/// The home and the system as they are now.
struct home_facts {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;  // of the home directory: a move within its file system keeps it, a copy does not
  std::string machine_id;
  std::string boot_id;
};

enum class home_verdict {
  fresh,   ///< no home was here
  same,    ///< the one recorded
  copied,  ///< rows of another home: its kernels are not ours
};

/// `boot` is nothing if that store is empty or was discarded.
home_verdict judge_home(std::optional<home_row> const& disk, std::optional<home_row> const& boot, home_facts const& now);

/// Whether `boot` was written before the system booted: then it may be corrupt and must not even be opened.
bool is_boot_outdated(std::optional<home_row> const& disk, home_facts const& now);

}  // namespace holdfast::storage

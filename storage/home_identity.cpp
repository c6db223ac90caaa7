#include "storage/home_identity.hpp"

namespace holdfast::storage {

home_verdict judge_home(std::optional<home_row> const& disk, std::optional<home_row> const& boot, home_facts const& now) {
  if (!disk) return home_verdict::fresh;
  if (disk->inode != now.inode || disk->machine_id != now.machine_id) return home_verdict::copied;
  if (!boot) return home_verdict::same;
  // Only within one boot is the device's number a fact: file systems may number anew.
  if (boot->id != disk->id || boot->inode != now.inode || boot->number != now.device) return home_verdict::copied;
  return home_verdict::same;
}

bool is_boot_outdated(std::optional<home_row> const& disk, home_facts const& now) { return !disk || disk->boot_id != now.boot_id; }

}  // namespace holdfast::storage

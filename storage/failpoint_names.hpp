// The names of the steps at which storage asks options.failpoint. A registry of failpoints is built from this list.
#pragma once

#include <array>
#include <string_view>

namespace holdfast::storage::failpoint {

inline constexpr std::string_view boot_before_commit = "storage.boot.before_commit";
inline constexpr std::string_view boot_after_commit = "storage.boot.after_commit";
inline constexpr std::string_view disk_before_commit = "storage.disk.before_commit";
inline constexpr std::string_view disk_after_commit = "storage.disk.after_commit";
/// The transaction is refused as `full`, as if there were no room for it; the store goes on.
inline constexpr std::string_view boot_without_room = "storage.boot.without_room";
inline constexpr std::string_view disk_without_room = "storage.disk.without_room";
inline constexpr std::string_view sweep_before_commit = "storage.sweep.before_commit";
/// A new `boot` has what `disk` has of kernels elsewhere, and `disk` does not say yet that it is the running system's.
inline constexpr std::string_view open_after_restore = "storage.open.after_restore";
inline constexpr std::string_view open_before_identity = "storage.open.before_identity";
inline constexpr std::string_view open_after_identity = "storage.open.after_identity";
inline constexpr std::string_view open_before_move = "storage.open.before_move";
/// Rows are in `disk` and not yet erased from `boot`.
inline constexpr std::string_view open_between_move = "storage.open.between_move";
inline constexpr std::string_view open_after_move = "storage.open.after_move";

inline constexpr std::array names{boot_before_commit,   boot_after_commit,   disk_before_commit,  disk_after_commit,
                                  boot_without_room,    disk_without_room,   sweep_before_commit, open_after_restore,
                                  open_before_identity, open_after_identity, open_before_move,    open_between_move,
                                  open_after_move};

}  // namespace holdfast::storage::failpoint

// What a kernel answers to snapshot, restore and fork, read out of `answered.body`: docs/wire.md "Requests". Strict; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "storage/records.hpp"

namespace holdfast::link {

/// To snapshot and restore: what is in the file, or in the namespace, and what is not.
struct namespace_told {
  std::vector<std::string> names;
  std::vector<storage::skipped_name> skipped;
  std::uint64_t bytes = 0;         // of the file
  std::uint64_t more_names = 0;    // beside `names`, which are the first
  std::uint64_t more_skipped = 0;  // beside `skipped`
};
tl::expected<namespace_told, std::string> namespace_of(std::string_view body);

/// Something of the original that its clone does not have.
struct left_behind {
  std::string kind;  // job, process or connection
  std::optional<std::string> job, command, what;
  std::optional<std::int64_t> pid, descriptor;
};
/// To fork: the clone that listens.
struct clone_told {
  std::int32_t pid = 0;
  std::uint64_t start_time = 0;
  std::vector<left_behind> left;
};
tl::expected<clone_told, std::string> clone_of(std::string_view body);

}  // namespace holdfast::link

// The ids of rows: one strong type per kind, so that a kernel's id never lands where a session's is wanted.
// Ids given by clients are 1-128 characters of [A-Za-z0-9._:-]; ours are a letter, a dash and a ULID.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace holdfast {

template <class Tag>
struct text_id {
  std::string text;

  text_id() = default;
  explicit text_id(std::string value) : text(std::move(value)) {}
  bool empty() const { return text.empty(); }
  friend auto operator<=>(text_id const&, text_id const&) = default;
};

using kernel_id = text_id<struct kernel_tag>;    // k-<ULID>
using nursery_id = text_id<struct nursery_tag>;  // y-<ULID>
using notice_id = text_id<struct notice_tag>;    // n-<ULID>, so notices sort by age
using job_id = text_id<struct job_tag>;          // j-<ULID>, given by the kernel that starts it
using cell_id = text_id<struct cell_tag>;        // the client's, or c-<ULID>

/// Names a session's rows; given once by the store, never reused.
using session_number = std::uint64_t;
/// The place of a cell in its session's order of acceptance, from 1.
using cell_number = std::uint64_t;

/// What a client calls a session: owner and child are namespaces; an empty child is none.
struct session_key {
  std::string owner = "default";
  std::string child;
  std::string session = "default";
  friend auto operator<=>(session_key const&, session_key const&) = default;
};

}  // namespace holdfast

template <class Tag>
struct std::hash<holdfast::text_id<Tag>> {
  std::size_t operator()(holdfast::text_id<Tag> const& id) const noexcept { return std::hash<std::string>{}(id.text); }
};
template <>
struct std::hash<holdfast::session_key> {
  std::size_t operator()(holdfast::session_key const& key) const noexcept {
    return std::hash<std::string>{}(key.owner + '\0' + key.child + '\0' + key.session);
  }
};

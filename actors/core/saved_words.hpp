// What a session is told of its saved namespace: texts and details of notices. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "actors/core/eviction.hpp"
#include "actors/link/state_answers.hpp"

namespace holdfast::core {

/// "its namespace was restored: a, b (2 names); missing: lock (cannot be pickled)".
std::string restored_in_words(link::namespace_told const& told);
/// The kind of the notice that tells of it.
constexpr char const* eviction_notice(eviction_reason reason) {
  return reason == eviction_reason::upgraded ? "upgraded" : "evicted";
}
/// "the session's kernel was ended, as it was idle for longer than idle_seconds; its namespace is saved and the next cell has it again".
std::string evicted_in_words(eviction_reason reason, link::namespace_told const& told);
/// The details of that notice as JSON text.
std::string skipped_details(link::namespace_told const& told);
/// The details of that notice as JSON text; long lists are cut.
std::string restored_details(link::namespace_told const& told);

/// Why a kernel that ended by itself did not save its namespace, by the end of its log; nothing if it says nothing of that.
std::optional<std::string> why_not_saved(std::string_view log_tail);

/// The list `skipped` in the details of a notice, as JSON text.
std::string skipped_in(std::string const& details);

}  // namespace holdfast::core

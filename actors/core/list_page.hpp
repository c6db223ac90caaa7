// What the lists of the protocol have in common: the filter, the position and the answer `{items, next}`. Pure.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/base/errors.hpp"
#include "actors/link/json_writer.hpp"

namespace holdfast::core {

inline bool matches(std::optional<std::string> const& wanted, std::string_view found) { return !wanted || *wanted == found; }

/// `items` are objects as JSON text; `next` is null at the end.
inline std::string list_json(std::vector<std::string> const& items, std::string_view next) {
  link::json_writer out;
  out.json("items", link::json_list(items, [](auto const& item) { return item; }));
  if (next.empty())
    out.null("next");
  else
    out.text("next", next);
  return out.take();
}

/// An `after` that is a number; left as it is when none is given. False: it is none.
inline bool read_position(std::string_view after, std::uint64_t& into) {
  auto const* const last = after.data() + after.size();
  auto const [end, problem] = std::from_chars(after.data(), last, into);
  return after.empty() || (problem == std::errc{} && end == last);
}
inline error not_a_next(std::string const& after) {
  return {error_code::invalid_params, "after must be a next of an earlier answer, found " + after, {}};
}

}  // namespace holdfast::core

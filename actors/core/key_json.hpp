// Whose an object of the protocol is: the fields with which rows, results, notices, notifications and events say so.
#pragma once

#include "actors/link/json_writer.hpp"
#include "storage/ids.hpp"

namespace holdfast::core {

/// Writes `owner`, `child` (null: none) and `session`.
inline link::json_writer& write_key(link::json_writer& out, session_key const& key) {
  out.text("owner", key.owner);
  if (key.child.empty())
    out.null("child");
  else
    out.text("child", key.child);
  return out.text("session", key.session);
}

}  // namespace holdfast::core

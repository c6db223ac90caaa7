// One question to the daemon that runs, for the commands that ask and show. They start none: what they would show is then not there.
#pragma once

#include <functional>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "actors/base/errors.hpp"
#include "actors/front/client.hpp"
#include "bin/holdfast/commands.hpp"
#include "bin/holdfast/table.hpp"

namespace holdfast::cli {

using show_answer = std::function<int(boost::json::object const& answer)>;

/// Asks, and shows the answer: as the one JSON document with --json, else as `show` does. Errors are shown here. Returns the exit code.
int ask(settings const& here, std::string_view method, boost::json::object const& params, show_answer const& show);

/// A list {items, next}, asked for page by page up to the `limit` of params, 0 for all: one line a row, made by `row`. An empty one says
/// "no WHAT", or `none`, on stderr, one with more behind it how to see it.
using make_row = std::function<std::vector<std::string>(boost::json::object const& item)>;
int ask_list(settings const& here, std::string_view method, boost::json::object const& params, std::string_view what,
             std::vector<std::string> headings, make_row const& row, std::string_view none = {});

/// The row of a list {items, next} whose `key` is `id`, for what has no method of its own; not_found says `missing`.
result<boost::json::object> find_row(front::client& connection, std::string_view method, std::string_view key, std::string_view id,
                                     std::string missing);

}  // namespace holdfast::cli

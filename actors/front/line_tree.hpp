// One line of JSON to a tree, more strictly than Boost.JSON alone: bounded in values, no key twice, and the text of the top level
// member "id" kept as it was written (10**30 and 1.0 must go back unchanged). Used by rpc.cpp.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/value.hpp>
#include <tl/expected.hpp>

namespace holdfast::front {

struct line_tree {
  boost::json::value root;
  std::string id_number;  // the text of a top level "id" that is a number, else empty
};

/// The error is a text that names the place and the mistake.
tl::expected<line_tree, std::string> parse_tree(std::string_view line);

}  // namespace holdfast::front

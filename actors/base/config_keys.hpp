// The table of settable keys: name, how a value is read, where it goes. The file and the environment are read through it alone.
// Private to config: nobody else includes it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tl/expected.hpp>

#include "actors/base/config.hpp"

namespace holdfast::detail {

/// A value as the file or a variable gives it. A variable is text, read as what its key wants.
using config_value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

/// What is wrong with a value, such as "wanted a number of seconds from 0.001 to 315360000".
using wanted = std::string;

struct config_key {
  std::string_view name;  // in the file; in the environment HOLDFAST_ and this in capitals
  std::function<tl::expected<void, wanted>(config&, config_value const&)> set;
};

std::span<config_key const> config_keys();

/// HOLDFAST_CELL_TIMEOUT_SECONDS for cell_timeout_seconds.
std::string variable_of(std::string_view key);

}  // namespace holdfast::detail

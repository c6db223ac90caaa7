// The way to a home's daemon: where the home is, the connection, and a start when nobody answers.
// Two that start at once get one daemon: the lock of the home decides, and both connect to the winner.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "actors/front/client.hpp"

namespace holdfast::cli {

/// --home, else HOLDFAST_HOME, else the default; absolute. It need not exist.
result<std::filesystem::path> find_home(std::optional<std::string> const& flag);

std::filesystem::path socket_of(std::filesystem::path const& home);
std::filesystem::path log_of(std::filesystem::path const& home);

/// A connection to the daemon that runs. `unreachable` with the next step when none does.
result<front::client> connect_running(std::filesystem::path const& home);

/// A connection to the daemon that runs, or to one that this call starts in the background. `unreachable`, naming the reason and,
/// in a home that can be used, daemon.log, when there is none within 20 s or `is_cancelled`, asked every 50 ms, says so.
result<front::client> connect_or_start(std::filesystem::path const& home, std::function<bool()> const& is_cancelled);

}  // namespace holdfast::cli

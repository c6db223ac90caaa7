#include "actors/base/config.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

#include <spdlog/fmt/fmt.h>
#include <toml++/toml.h>

#include "actors/base/config_keys.hpp"
#include "actors/base/unique_fd.hpp"

namespace holdfast {
namespace {

using detail::config_keys;
using detail::config_value;
using detail::variable_of;

// Variables that are no keys of the file: where the home is, what tests need, and the mark that every kernel's processes carry.
constexpr std::string_view home_variable = "HOLDFAST_HOME";
constexpr std::string_view time_scale_variable = "HOLDFAST_TIME_SCALE";
constexpr std::string_view failpoints_variable = "HOLDFAST_FAILPOINTS";
constexpr std::string_view failpoint_log_variable = "HOLDFAST_FAILPOINT_LOG";
constexpr std::string_view kernel_mark = "HOLDFAST_KERNEL";

tl::unexpected<error> refuse(std::string message) { return fail(error_code::invalid_params, std::move(message)); }

/// None when the key takes no value of this TOML type at all.
std::optional<config_value> value_of(toml::node const& node) {
  if (auto const* flag = node.as_boolean()) return flag->get();
  if (auto const* whole = node.as_integer()) return whole->get();
  if (auto const* real = node.as_floating_point()) return real->get();
  if (auto const* text = node.as_string()) return text->get();
  auto const* array = node.as_array();
  if (!array) return std::nullopt;
  std::vector<std::string> texts;
  for (auto const& item : *array) {
    auto const* text = item.as_string();
    if (!text) return std::nullopt;
    texts.push_back(text->get());
  }
  return texts;
}

/// The file's text; empty when there is no such file.
result<std::string> read_file(std::filesystem::path const& path) {
  unique_fd const fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::string();
  struct stat status {};
  if (fd && ::fstat(fd.get(), &status) == 0 && !S_ISREG(status.st_mode))
    return refuse(fmt::format("cannot read {}: it is not a regular file", path.string()));
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t got = -1;
  while (fd && (got = ::read(fd.get(), buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  if (got == -1) return refuse(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
  return text;
}

result<void> take_file(config& to, std::filesystem::path const& path) {
  auto const text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  toml::table table;
  try {
    table = toml::parse(*text, path.string());
  } catch (toml::parse_error const& problem) {
    return refuse(fmt::format("{}, line {}: {}", path.string(), problem.source().begin.line, problem.description()));
  }
  for (auto const& [name, node] : table) {
    auto const place = fmt::format("{}, line {}", path.string(), name.source().begin.line);
    auto const key = std::find_if(config_keys().begin(), config_keys().end(),
                                  [wanted = name.str()](auto const& one) { return one.name == wanted; });
    if (key == config_keys().end())
      return refuse(fmt::format("{}: unknown key {}; correct its name or remove it", place, name.str()));
    auto const value = value_of(node);
    auto const done = value ? key->set(to, *value) : tl::unexpected(std::string("it has the wrong type"));
    if (!done) return refuse(fmt::format("{}: bad value for {}: {}", place, name.str(), done.error()));
  }
  return {};
}

result<void> take_time_scale(config& to, std::string const& text) {
  double scale = 0;
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), scale);
  if (problem != std::errc{} || end != text.data() + text.size() || !(scale >= 1) || scale > 1e6)
    return refuse(fmt::format("bad value \"{}\" for {}: wanted a number from 1 to 1000000", text, time_scale_variable));
  to.time_scale = scale;
  return {};
}

result<void> take_environment(config& to, environment_map const& environment) {
  for (auto const& key : config_keys()) {
    auto const variable = variable_of(key.name);
    auto const found = environment.find(variable);
    if (found == environment.end()) continue;
    if (auto done = key.set(to, found->second); !done)
      return refuse(fmt::format("bad value \"{}\" for {}: {}", found->second, variable, done.error()));
  }
  for (auto const& [name, value] : environment) {
    if (name == time_scale_variable) {
      if (auto done = take_time_scale(to, value); !done) return done;
    } else if (name == failpoints_variable) {
      to.failpoints = value;
    } else if (name == failpoint_log_variable) {
      to.failpoint_log = value;
    } else if (name.starts_with("HOLDFAST_") && name != home_variable && name != kernel_mark &&
               std::none_of(config_keys().begin(), config_keys().end(),
                            [&wanted = name](auto const& key) { return variable_of(key.name) == wanted; })) {
      to.ignored_variables.push_back(name);
    }
  }
  return {};
}

/// The value of a variable that is set and not empty.
std::optional<std::string> variable(environment_map const& environment, std::string_view name) {
  auto const found = environment.find(std::string(name));
  if (found == environment.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

}  // namespace

std::chrono::milliseconds config::scaled(std::chrono::milliseconds deadline) const {
  auto const least = std::min(deadline, defaults::least_scaled_deadline);
  return std::max(least, std::chrono::milliseconds(std::llround(static_cast<double>(deadline.count()) / time_scale)));
}

std::chrono::milliseconds config::scaled_delay(std::chrono::milliseconds delay) const {
  auto const least = std::min(delay, std::chrono::milliseconds(1));
  return std::max(least, std::chrono::milliseconds(std::llround(static_cast<double>(delay.count()) / time_scale)));
}

environment_map current_environment() {
  environment_map found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view const text = *entry;
    auto const equals = text.find('=');
    if (equals != std::string_view::npos) found.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return found;
}

result<std::filesystem::path> default_home(environment_map const& environment) {
  // A relative XDG path is to be ignored, as the base directory specification says.
  if (auto const state = variable(environment, "XDG_STATE_HOME"); state && state->front() == '/')
    return std::filesystem::path(*state) / "holdfast";
  if (auto const user_home = variable(environment, "HOME"); user_home && user_home->front() == '/')
    return std::filesystem::path(*user_home) / ".local" / "state" / "holdfast";
  return refuse("cannot tell where the home is: neither HOLDFAST_HOME, XDG_STATE_HOME nor HOME is set; name it with --home");
}

result<config> load_config(std::optional<std::filesystem::path> home_flag, environment_map const& environment) {
  config loaded;
  if (home_flag && !home_flag->empty()) {
    loaded.home = *home_flag;
  } else if (auto const named = variable(environment, home_variable)) {
    loaded.home = *named;
  } else {
    auto found = default_home(environment);
    if (!found) return tl::unexpected(found.error());
    loaded.home = std::move(*found);
  }
  std::error_code problem;
  auto absolute = std::filesystem::absolute(loaded.home, problem);
  if (problem) return refuse(fmt::format("cannot resolve home {}: {}", loaded.home.string(), problem.message()));
  loaded.home = absolute.lexically_normal();
  if (!loaded.home.has_filename()) loaded.home = loaded.home.parent_path();  // "/a/b/" is "/a/b"

  if (auto done = take_file(loaded, loaded.home / "config.toml"); !done) return tl::unexpected(done.error());
  if (auto done = take_environment(loaded, environment); !done) return tl::unexpected(done.error());
  return loaded;
}

}  // namespace holdfast

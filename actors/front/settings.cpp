#include "actors/front/settings.hpp"

#include "actors/base/config_keys.hpp"

namespace holdfast::front {

using detail::variable_of;

result<config> merge_settings(gateway::config const& given) {
  // As variables they pass the same checks and win over the file.
  auto environment = current_environment();
  for (auto const& [key, value] : given.settings) {
    environment[variable_of(key)] = value;
  }
  if (!given.python.empty()) environment[variable_of("python")] = given.python;
  auto merged = load_config(given.home.empty() ? std::nullopt : std::optional<std::filesystem::path>(given.home), environment);
  if (!merged) return merged;
  for (auto const& ignored : merged->ignored_variables)
    for (auto const& [key, value] : given.settings)
      if (variable_of(key) == ignored)
        return fail(error_code::invalid_params,
                    "cannot take the settings: unknown key '" + key + "'; the keys are those of config.toml", {{"param", key}});
  return merged;
}

}  // namespace holdfast::front

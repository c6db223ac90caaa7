#include "actors/env/variables.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace holdfast::env {

namespace {

constexpr std::array<std::string_view, 10> secret_words = {"KEY",        "TOKEN", "SECRET", "PASSWORD", "PASSWD",
                                                           "CREDENTIAL", "AUTH",  "DSN",    "WEBHOOK",  "BEARER"};
constexpr std::array<std::string_view, 9> usual_names = {"PATH",   "HOME",  "USER", "LANG",       "TERM",
                                                         "TMPDIR", "SHELL", "TZ",   "VIRTUAL_ENV"};
constexpr std::array<std::string_view, 3> usual_prefixes = {"LC_", "XDG_", "CONDA_"};
constexpr std::array<std::string_view, 3> interpreter_prefixes = {"PYTHON", "LD_", "MALLOC_"};

template <class Prefixes>
bool has_prefix(std::string_view name, Prefixes const& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](auto prefix) { return name.starts_with(prefix); });
}

bool is_usual(std::string_view name) {
  return std::find(usual_names.begin(), usual_names.end(), name) != usual_names.end() || has_prefix(name, usual_prefixes);
}

}  // namespace

bool looks_secret(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return std::any_of(secret_words.begin(), secret_words.end(), [&](auto word) { return upper.find(word) != std::string::npos; });
}

bool is_interpreter_variable(std::string_view name) { return has_prefix(name, interpreter_prefixes); }

variables kernel_variables(variables const& gateway, std::vector<std::string> const& pass_env, variables const& session) {
  variables chosen;
  for (auto const& [name, value] : gateway)
    if (is_usual(name) && !looks_secret(name)) chosen[name] = value;
  for (auto const& name : pass_env)
    if (auto found = gateway.find(name); found != gateway.end()) chosen[name] = found->second;
  for (auto const& [name, value] : session) chosen[name] = value;
  // What marks or steers our own processes is never handed on: a daemon started in a cell must start clean.
  std::erase_if(chosen, [](auto const& item) { return item.first.starts_with("HOLDFAST_"); });
  return chosen;
}

words usual_words() {
  auto const listed = [](auto const& from) { return std::vector<std::string_view>(from.begin(), from.end()); };
  return {listed(usual_names), listed(usual_prefixes), listed(secret_words), listed(interpreter_prefixes)};
}

variables nursery_variables(variables const& gateway, std::vector<std::string> const& pass_env, variables const& session) {
  auto chosen = kernel_variables(gateway, pass_env, {});
  for (auto const& [name, value] : session)
    if (is_interpreter_variable(name)) chosen[name] = value;
  return chosen;
}

}  // namespace holdfast::env

// Which environment variables a kernel gets: pure decisions over maps. Secrets stay out unless passed by name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::env {

using variables = std::map<std::string, std::string>;

/// Whether a name looks like that of a secret: it contains KEY, TOKEN, SECRET, PASSWORD, PASSWD, CREDENTIAL, AUTH, DSN, WEBHOOK or BEARER.
bool looks_secret(std::string_view name);

/// Whether a variable changes the interpreter itself, so that kernels with another value need another nursery: PYTHON*, LD_*, MALLOC_*.
bool is_interpreter_variable(std::string_view name);

/// The whole environment of a kernel: the usual variables of the gateway (PATH, HOME, LANG, ...), those passed by name, then the session's own.
variables kernel_variables(variables const& gateway, std::vector<std::string> const& pass_env, variables const& session);

/// The part of a kernel's environment that its nursery must start with.
variables nursery_variables(variables const& gateway, std::vector<std::string> const& pass_env, variables const& session);

/// The words that these decisions go by, for whoever makes them elsewhere.
struct words {
  std::vector<std::string_view> names, prefixes, secret_words, interpreter_prefixes;
};
words usual_words();

}  // namespace holdfast::env

// Runs a claim in a forked child that may change its user, its mounts, or die. The child uses no Catch: it answers with text.
#pragma once

#include <functional>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::storage {

/// What the child answered: "" for a claim that held. A child that died answers with how.
inline std::string in_child(std::function<std::string()> const& claim) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  auto const child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    auto const answer = claim();
    auto const written = ::write(ends[1], answer.data(), answer.size());
    ::_exit(written == static_cast<ssize_t>(answer.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string answer;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) answer.append(buffer, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) answer += "died of signal " + std::to_string(WTERMSIG(status));
  return answer;
}

}  // namespace holdfast::storage

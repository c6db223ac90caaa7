#include "bin/holdfast/streams.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace holdfast::cli {

namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    auto const count = ::write(fd, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return false;
    // Somebody made the terminal or pipe that we share with them non-blocking.
    pollfd waiting{fd, POLLOUT, 0};
    ::poll(&waiting, 1, -1);
  }
  return true;
}

}  // namespace

bool write_out(std::string_view text) { return write_all(STDOUT_FILENO, text); }

void write_err(std::string_view text) { write_all(STDERR_FILENO, text); }

void complain(std::string_view text) {
  std::string line = "holdfast: ";
  line.append(text);
  line += '\n';
  write_err(line);
}

}  // namespace holdfast::cli

#include "bin/holdfast/streams.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace holdfast::cli {

namespace {

int first_problem = 0;  // of stdout, an errno

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

void hold_standard_streams() {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)  // the lowest that is free, as those below it are taken
      (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

bool write_out(std::string_view text) {
  if (write_all(STDOUT_FILENO, text)) return true;
  if (first_problem == 0) first_problem = errno;
  return false;
}

int out_problem() { return first_problem == EPIPE ? 0 : first_problem; }

void write_err(std::string_view text) { write_all(STDERR_FILENO, text); }

void complain(std::string_view text) {
  std::string line = "holdfast: ";
  line.append(text);
  line += '\n';
  write_err(line);
}

}  // namespace holdfast::cli

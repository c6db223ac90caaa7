#include "bin/holdfast/source.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "actors/base/defaults.hpp"
#include "actors/base/unique_fd.hpp"
#include "actors/link/utf8.hpp"

namespace holdfast::cli {

namespace {

result<std::string> read_all(int fd, std::string const& name) {
  std::string code;
  char piece[64 * 1024];
  for (;;) {
    auto const count = ::read(fd, piece, sizeof piece);
    if (count == 0) return code;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(error_code::invalid_params, "cannot read " + name + ": " + std::strerror(errno));
    code.append(piece, static_cast<std::size_t>(count));
    // More would be refused by the daemon; a device without an end must not fill the memory.
    if (code.size() > defaults::source_limit) {
      return fail(error_code::invalid_params,
                  "cannot run " + name + ": more than 1 MiB of code; pass the data in a file that the cell opens");
    }
  }
}

result<std::string> read_named(run_arguments const& given) {
  if (given.code && *given.code != "-") return *given.code;
  if (given.code || *given.file == "-") return read_all(STDIN_FILENO, "standard input");
  unique_fd file(::open(given.file->c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail(error_code::invalid_params, "cannot open " + *given.file + ": " + std::strerror(errno));
  return read_all(file.get(), *given.file);
}

}  // namespace

result<std::string> read_source(run_arguments const& given) {
  auto code = read_named(given);
  if (code && !link::is_utf8(*code)) return fail(error_code::invalid_params, "cannot run code that is not UTF-8; convert it first");
  return code;
}

}  // namespace holdfast::cli

#include "actors/link/image_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace holdfast::link {

namespace {

struct descriptor {
  int number;
  explicit descriptor(int opened) : number(opened) {}
  descriptor(descriptor const&) = delete;
  descriptor& operator=(descriptor const&) = delete;
  ~descriptor() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace

tl::expected<std::string, std::string> read_image(std::filesystem::path const& path, std::size_t limit, char const* what) {
  auto const problem = [&](std::string const& reason) {
    return tl::unexpected("cannot read " + std::string{what} + " " + path.string() + ": " + reason);
  };
  auto const failed = [&] { return problem(std::strerror(errno)); };

  descriptor const file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)};
  if (file.number < 0) return failed();
  struct stat found {};
  if (::fstat(file.number, &found) != 0) return failed();
  if (!S_ISREG(found.st_mode)) return problem("found no regular file");

  std::string image(std::min(limit, static_cast<std::size_t>(found.st_size)), '\0');
  std::size_t filled = 0;
  while (filled < image.size()) {
    auto const count = ::pread(file.number, image.data() + filled, image.size() - filled, static_cast<off_t>(filled));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed();
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  image.resize(filled);
  return image;
}

}  // namespace holdfast::link

#include "actors/base/log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <catch2/catch.hpp>

#include "tests/support/forked.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace holdfast;
using test::read_file;
using test::temporary_directory;

namespace {

/// The log is one for the process: off again after each test.
struct log_guard {
  ~log_guard() { log::close(); }
};

}  // namespace

TEST_CASE("the log is off until it is opened and after it is closed") {
  temporary_directory const directory;
  log_guard const guard;
  CHECK_FALSE(log::is_enabled(log::level::error));
  log::error("before", "nobody hears this");

  REQUIRE(log::open(directory / "daemon.log"));
  log::info("during", "gateway {} started", 7);
  log::close();
  log::error("after", "nobody hears this either");

  auto const text = read_file(directory / "daemon.log");
  CHECK(text.find("before") == std::string::npos);
  CHECK(text.find("after") == std::string::npos);
  auto shape = text;
  for (auto& c : shape)
    if (c >= '0' && c <= '9') c = '9';
  CHECK(shape == "9999-99-99T99:99:99.999Z info during gateway 9 started\n");
}

TEST_CASE("a level below the least one is not written") {
  temporary_directory const directory;
  log_guard const guard;
  REQUIRE(log::open(directory / "daemon.log", log::level::warn));

  log::info("quiet", "x");
  log::warn("loud", "x");
  log::error("louder", "x");

  auto const text = read_file(directory / "daemon.log");
  CHECK(text.find("quiet") == std::string::npos);
  CHECK(text.find("warning loud x") != std::string::npos);
  CHECK(text.find("error louder x") != std::string::npos);
}

TEST_CASE("a text from outside cannot forge a line") {
  temporary_directory const directory;
  log_guard const guard;
  REQUIRE(log::open(directory / "daemon.log"));

  log::info("refused", "peer said {}", "x\n2026 error forged\x1b[31m {}%v");

  auto const text = read_file(directory / "daemon.log");
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(text.find("peer said x\\x0a2026 error forged\\x1b[31m {}%v") != std::string::npos);
}

TEST_CASE("the log is 0600 under any umask, before and after it is rotated, and three files are kept") {
  temporary_directory const directory;
  log_guard const guard;
  auto const before = ::umask(0);
  REQUIRE(log::open(directory / "daemon.log"));
  std::string const line(1 << 20, 'x');
  for (int i = 0; i < 45; ++i) log::info("fill", "{}", line);
  ::umask(before);

  std::size_t files = 0;
  std::uintmax_t bytes = 0;
  for (auto const& entry : std::filesystem::directory_iterator(directory.path())) {
    struct stat found {};
    REQUIRE(::stat(entry.path().c_str(), &found) == 0);
    CHECK((found.st_mode & 07777) == 0600);
    ++files;
    bytes += entry.file_size();
  }
  CHECK(files == 3);
  CHECK(bytes <= 31 << 20);
}

TEST_CASE("the log's descriptor is not inherited") {
  temporary_directory const directory;
  log_guard const guard;
  REQUIRE(log::open(directory / "daemon.log"));

  auto const path = std::filesystem::canonical(directory / "daemon.log");
  int found = 0;
  for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry.path(), ignored) != path) continue;
    ++found;
    CHECK((::fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK(found == 1);
}

TEST_CASE("a log that cannot be opened is an error") {
  log_guard const guard;
  CHECK_FALSE(log::open("/proc/none/daemon.log"));
  CHECK_FALSE(log::is_enabled(log::level::error));
}

TEST_CASE("standard error gets lines when asked, standard output never") {
  temporary_directory const directory;
  test::forked child([&] {
    int const out = ::open((directory / "out").c_str(), O_WRONLY | O_CREAT, 0600);
    int const err = ::open((directory / "err").c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(out, 1);
    ::dup2(err, 2);
    log::open_stderr();
    log::info("started", "gateway up");
    return 0;
  });
  CHECK(child.exit_code() == 0);

  CHECK(read_file(directory / "out").empty());
  CHECK(read_file(directory / "err").find("info started gateway up\n") != std::string::npos);
}

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "actors/base/unique_fd.hpp"
#include "bin/holdfast/doctor_facts.hpp"
#include "tests/support/temporary_directory.hpp"

namespace holdfast::cli {
namespace {

TEST_CASE("a process that holds a kernel's directory to name files by is not that kernel") {
  test::temporary_directory const home;
  auto const directory = home.path() / "run" / "k-1";
  std::filesystem::create_directories(directory);

  unique_fd const as_nursery(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(look_at_kernels(home.path()).size() == 1);
  CHECK(look_at_kernels(home.path()).front().processes.empty());

  unique_fd const as_kernel(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CHECK(look_at_kernels(home.path()).front().processes == std::vector<pid_t>{::getpid()});
}

}  // namespace
}  // namespace holdfast::cli

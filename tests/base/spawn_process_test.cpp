#include "actors/base/spawn_process.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "tests/support/temporary_directory.hpp"

using namespace holdfast;
using test::temporary_directory;

TEST_CASE("a program is found on PATH in its order, and only if it can be executed") {
  temporary_directory const directory;
  for (auto const* name : {"a", "b", "c"}) std::filesystem::create_directory(directory / name);
  test::write_file(directory / "a/tool", "");  // not executable
  std::filesystem::create_directory(directory / "b/tool");
  test::write_file(directory / "c/tool", "");
  ::chmod((directory / "c/tool").c_str(), 0700);
  auto const path = (directory / "a").string() + "::" + (directory / "b").string() + ":" + (directory / "c").string();

  CHECK(find_program("tool", path) == directory / "c/tool");
  CHECK(find_program("tool", "").empty());
  CHECK(find_program("", path).empty());
  CHECK(find_program("./tool", path) == "./tool");
}

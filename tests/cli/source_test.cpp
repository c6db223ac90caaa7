#include <catch2/catch.hpp>

#include "bin/holdfast/service.hpp"
#include "bin/holdfast/source.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace holdfast::cli;

namespace {

run_arguments from_file(std::filesystem::path const& path, std::string const& content) {
  holdfast::test::write_file(path, content);
  run_arguments given;
  given.file = path.string();
  return given;
}

}  // namespace

TEST_CASE("code comes from a file as it is") {
  holdfast::test::temporary_directory directory;

  CHECK(read_source(from_file(directory.path() / "a.py", "print('é')\n\tx")).value() == "print('é')\n\tx");
  CHECK(read_source(from_file(directory.path() / "empty.py", "")).value().empty());
}

TEST_CASE("a file that is missing, endless or not UTF-8 is a usage error that names it") {
  holdfast::test::temporary_directory directory;
  run_arguments missing, endless;
  missing.file = (directory.path() / "missing.py").string();
  endless.file = "/dev/zero";

  for (auto const& given : {missing, endless, from_file(directory.path() / "latin1.py", "print('\xe9')")}) {
    auto const code = read_source(given);

    REQUIRE_FALSE(code);
    CHECK(code.error().code == holdfast::error_code::invalid_params);
    CHECK_FALSE(code.error().message.empty());
  }
}

TEST_CASE("the home of the command line is absolute and wins over the environment") {
  CHECK(find_home("/srv/holdfast/../h").value() == "/srv/h");
  CHECK(find_home("relative").value() == std::filesystem::current_path() / "relative");
  CHECK_FALSE(find_home(""));
}

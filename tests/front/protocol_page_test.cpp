// docs/protocol.md is what the table says.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>

#include "actors/front/methods.hpp"
#include "tests/support/temporary_directory.hpp"

namespace holdfast::front {
namespace {

TEST_CASE("docs/protocol.md is the generated text (HOLDFAST_WRITE_DOCS=1 writes it)") {
  auto const page = std::filesystem::path(HOLDFAST_SOURCE_DIR) / "docs" / "protocol.md";
  if (std::getenv("HOLDFAST_WRITE_DOCS") != nullptr) test::write_file(page, protocol_markdown());

  CHECK(test::read_file(page) == protocol_markdown());
}

}  // namespace
}  // namespace holdfast::front

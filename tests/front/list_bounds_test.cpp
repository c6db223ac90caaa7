// A list that has to look through many rows for few: one request looks through so many and no more, and `next` goes on.
#include <catch2/catch.hpp>

#include <boost/json/parse.hpp>

#include "actors/base/defaults.hpp"
#include "actors/base/home.hpp"
#include "actors/base/identity.hpp"
#include "holdfast/holdfast.hpp"
#include "storage/stores.hpp"
#include "tests/support/temporary_directory.hpp"

namespace holdfast {
namespace {

constexpr std::size_t hibernated = 2 * defaults::list_looks_most + 500;

/// A home with sessions as hibernations leave them, and the oldest of all, which is new.
void fill(std::filesystem::path const& home) {
  REQUIRE(prepare_home(home));
  auto opened = storage::stores::open({home, boot_id(), machine_id(), std::size_t{1} << 30, {}});
  REQUIRE(opened);
  std::vector<storage::changes> units;
  for (session_number number = 1; number <= hibernated + 1; ++number) {
    storage::session_record row;
    row.number = number;
    row.key = {"ada", number % 2 == 0 ? "child" : "", "s" + std::to_string(number)};
    row.created_at = 1;
    auto& unit = units.emplace_back(storage::changes{storage::put_session{row}});
    if (number == 1) continue;
    storage::saved_record saved;
    saved.session = number;
    saved.kernel = kernel_id("k-" + std::to_string(number));
    saved.file = "state/" + std::to_string(number) + ".0";
    saved.reason = "idle";
    saved.bytes = 1000;
    unit.push_back(storage::put_saved{saved});
  }
  REQUIRE((*opened)->commit_disk(units));
}

struct walked {
  std::size_t requests = 0, rows = 0;
};

walked walk(gateway& running, std::string const& filter) {
  walked found;
  for (std::string after;; ++found.requests) {
    auto const answer = boost::json::parse(running.call(
        "session.list", "{" + filter + R"("limit":1000)" + (after.empty() ? "" : R"(,"after":")" + after + "\"") + "}"));
    found.rows += answer.at("items").as_array().size();
    if (answer.at("next").is_null()) return ++found.requests, found;
    after = answer.at("next").as_string();
  }
}

TEST_CASE("a list of sessions looks through a bounded number in one request, and finds all of them over several") {
  test::temporary_directory directory;
  auto const home = directory.path() / "home";
  fill(home);
  gateway running({.home = home});
  running.start();

  auto const fresh = walk(running, R"("state":"new",)");
  auto const saved = walk(running, R"("state":"hibernated",)");
  auto const children = walk(running, R"("child":"child",)");
  auto const none = walk(running, R"("child":"nobody",)");

  CHECK(fresh.rows == 1);
  CHECK(fresh.requests == 3);
  CHECK(saved.rows == hibernated);
  CHECK(children.rows == hibernated / 2);
  CHECK(none.rows == 0);
  CHECK(none.requests == 3);
  running.stop(kernels::end);
}

}  // namespace
}  // namespace holdfast

#include "actors/base/errors.hpp"

#include <set>
#include <string>

#include <boost/json/serialize.hpp>
#include <catch2/catch.hpp>

using namespace holdfast;

namespace {

constexpr error_code all_codes[] = {
    error_code::parse_error,   error_code::invalid_request, error_code::unknown_method, error_code::invalid_params,
    error_code::internal,      error_code::not_found,       error_code::cell_conflict,  error_code::cell_expired,
    error_code::busy,          error_code::at_capacity,     error_code::queue_full,     error_code::start_failed,
    error_code::unreachable,   error_code::too_large,       error_code::store_failed,   error_code::kernel_changed,
    error_code::shutting_down, error_code::cannot_fork,     error_code::store_full};

}  // namespace

TEST_CASE("every error code has a name of its own") {
  std::set<std::string_view> names;
  for (auto const code : all_codes) names.insert(to_string(code));

  CHECK(names.size() == std::size(all_codes));
}

TEST_CASE("an error's JSON carries code, message, kind, retry and its own data") {
  error const problem{error_code::queue_full, "cannot accept cell c-1: 64 cells wait", {{"queued", 64}}};

  auto const json = to_json(problem);

  CHECK(boost::json::serialize(json) ==
        R"({"code":1006,"message":"cannot accept cell c-1: 64 cells wait","data":{"queued":64,"kind":"queue_full","retry":true}})");
}

TEST_CASE("an error's own data cannot replace kind and retry") {
  error const problem{error_code::not_found, "no cell c-1", {{"kind", "busy"}, {"retry", true}}};

  auto const json = to_json(problem);

  CHECK(json.at("data").at("kind") == "not_found");
  CHECK(json.at("data").at("retry") == false);
}

TEST_CASE("what the same request cannot change is not to be retried") {
  for (auto const code : {error_code::cell_conflict, error_code::cell_expired, error_code::invalid_params, error_code::too_large,
                          error_code::kernel_changed, error_code::store_failed, error_code::internal})
    CHECK_FALSE(is_retryable(code));
  for (auto const code : {error_code::busy, error_code::at_capacity, error_code::queue_full, error_code::unreachable,
                          error_code::shutting_down, error_code::store_full})
    CHECK(is_retryable(code));
}

TEST_CASE("a full store is store_full and every other failure store_failed") {
  CHECK(from_storage({storage::failure_code::full, "disk full"}).code == error_code::store_full);
  for (auto const code : {storage::failure_code::failed, storage::failure_code::damaged, storage::failure_code::newer,
                          storage::failure_code::denied, storage::failure_code::in_use}) {
    auto const problem = from_storage({code, "why"});
    CHECK(problem.code == error_code::store_failed);
    CHECK(problem.message == "why");
  }
}

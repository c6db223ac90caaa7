#include <catch2/catch.hpp>

#include "actors/core/saved_words.hpp"

using namespace holdfast;
using namespace holdfast::core;

TEST_CASE("what was restored is told by name, what is missing with its reason") {
  link::namespace_told const told{{"x", "y"}, {{"lock", "cannot be pickled"}}, 900};

  CHECK(
      restored_in_words(told) ==
      "the session's kernel had ended with its namespace saved; a fresh one has it again: x, y; missing: lock (cannot be pickled)");
  CHECK(restored_details(told) ==
        R"({"jobs":[],"cells":[],"skipped":[{"name":"lock","reason":"cannot be pickled"}],"names":["x","y"]})");
}

TEST_CASE("of many names the text has twenty and the details a thousand") {
  link::namespace_told told;
  for (int number = 0; number < 1003; ++number) told.names.push_back("n" + std::to_string(number));

  auto const text = restored_in_words(told);
  auto const details = restored_details(told);

  CHECK(text.ends_with("n18, n19 and 983 more"));
  CHECK(details.find("\"n999\"") != std::string::npos);
  CHECK(details.find("\"n1000\"") == std::string::npos);
}

TEST_CASE("names that a kernel only counted are counted with the others") {
  link::namespace_told const told{{"x"}, {{"lock", "cannot be pickled"}}, 900, 41, 7};

  auto const text = restored_in_words(told);

  CHECK(text.find(": x and 41 more;") != std::string::npos);
  CHECK(text.ends_with("missing: lock (cannot be pickled) and 7 more"));
}

TEST_CASE("the skipped of a notice are found in its details, whatever those are") {
  CHECK(skipped_in(restored_details({{}, {{"a", "b"}}, 1})) == R"([{"name":"a","reason":"b"}])");
  CHECK(skipped_in("{}") == "[]");
  CHECK(skipped_in("") == "[]");
  CHECK(skipped_in(R"({"skipped":7})") == "[]");
}

TEST_CASE("a kernel that could not save its namespace at the end of its grace says why in its log") {
  CHECK(!why_not_saved("2026-01-01T00:00:00.000Z kernel-ended nothing attached for 1000 ms\n"));
  CHECK(why_not_saved("2026-01-01T00:00:00.000Z namespace-not-saved cannot save to /h/state/1: No space left on device\n"
                      "2026-01-01T00:00:00.001Z kernel-ended nothing attached for 1000 ms\n") ==
        "cannot save to /h/state/1: No space left on device");
}

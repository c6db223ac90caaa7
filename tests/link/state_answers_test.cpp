#include <catch2/catch.hpp>

#include "actors/link/state_answers.hpp"

using namespace holdfast;
using namespace holdfast::link;

TEST_CASE("an answer about a namespace has names, what is missing, and the size of the file") {
  auto const told = namespace_of(
      R"({"type":"answer","id":"r","names":["x","y"],"skipped":[{"name":"lock","reason":"cannot be pickled"}],"bytes":900})");

  REQUIRE(told);
  CHECK(told->names == std::vector<std::string>{"x", "y"});
  CHECK(told->skipped == std::vector<storage::skipped_name>{{"lock", "cannot be pickled"}});
  CHECK(told->bytes == 900);
}

TEST_CASE("an answer to fork names the clone and what stays with the original") {
  auto const told = clone_of(
      R"({"type":"answer","id":"r","pid":7,"start_time":8,"left_behind":[{"kind":"job","job":"j-1","command":"sleep 5","pid":9,"group":9},)"
      R"({"kind":"connection","descriptor":5,"what":"socket to 127.0.0.1:80"}]})");

  REQUIRE(told);
  CHECK(told->pid == 7);
  CHECK(told->start_time == 8);
  REQUIRE(told->left.size() == 2);
  CHECK(told->left[0].job == "j-1");
  CHECK(told->left[0].pid == 9);
  CHECK(told->left[1].kind == "connection");
  CHECK(told->left[1].descriptor == 5);
}

TEST_CASE("an answer that is not as described is refused, with the field") {
  CHECK_FALSE(namespace_of("[]"));
  CHECK(namespace_of(R"({"names":[1],"skipped":[],"bytes":1})").error() ==
        "cannot read answer about a namespace: field \"names\" is a list of something else, wanted a list of texts");
  CHECK(namespace_of(R"({"names":[],"skipped":[1],"bytes":1})").error().find("\"skipped\"") != std::string::npos);
  CHECK(namespace_of(R"({"names":[],"skipped":[]})").error().find("\"bytes\"") != std::string::npos);
  CHECK(clone_of(R"({"pid":0,"start_time":1,"left_behind":[]})").error() ==
        "cannot read answer to fork: field \"pid\" is 0, wanted a pid");
  CHECK_FALSE(clone_of(R"({"pid":4294967297,"start_time":1,"left_behind":[]})"));
  CHECK_FALSE(clone_of(R"({"pid":1,"start_time":1})"));
}

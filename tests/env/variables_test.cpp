#include <catch2/catch.hpp>

#include "actors/env/variables.hpp"

using namespace holdfast::env;

TEST_CASE("secrets of the gateway never reach a kernel") {
  variables const gateway = {{"PATH", "/bin"},   {"SENTRY_DSN", "x"},  {"AWS_SECRET_ACCESS_KEY", "x"}, {"X_WEBHOOK", "x"},
                             {"XDG_TOKEN", "x"}, {"LC_PASSWORD", "x"}, {"XDG_RUNTIME_DIR", "/r"},      {"EDITOR", "vi"}};

  auto const kernel = kernel_variables(gateway, {}, {});

  CHECK(kernel == variables{{"PATH", "/bin"}, {"XDG_RUNTIME_DIR", "/r"}});
}

TEST_CASE("a variable that is passed by name reaches a kernel, a secret too") {
  auto const kernel = kernel_variables({{"MY_TOKEN", "t"}}, {"MY_TOKEN", "MISSING"}, {});

  CHECK(kernel == variables{{"MY_TOKEN", "t"}});
}

TEST_CASE("the session's own variables win over the gateway's") {
  auto const kernel = kernel_variables({{"PATH", "/bin"}}, {}, {{"PATH", "/venv/bin"}, {"API_KEY", "mine"}});

  CHECK(kernel == variables{{"PATH", "/venv/bin"}, {"API_KEY", "mine"}});
}

TEST_CASE("what marks or steers our own processes is not handed on") {
  auto const kernel = kernel_variables({{"HOLDFAST_HOME", "/h"}}, {"HOLDFAST_HOME"}, {{"HOLDFAST_KERNEL", "k-1"}});

  CHECK(kernel.empty());
}

TEST_CASE("a nursery starts with the interpreter's variables of a session and no others of it") {
  auto const nursery = nursery_variables({{"PATH", "/bin"}}, {}, {{"PYTHONPATH", "/lib"}, {"LD_PRELOAD", "x"}, {"MODE", "y"}});

  CHECK(nursery == variables{{"PATH", "/bin"}, {"PYTHONPATH", "/lib"}, {"LD_PRELOAD", "x"}});
}

TEST_CASE("names that look like secrets are recognized in any case") {
  for (auto const* name : {"api_key", "AuthHeader", "DB_PASSWD", "BEARER", "my_credentials", "SENTRY_DSN"})
    CHECK(looks_secret(name));
  for (auto const* name : {"PATH", "HOME", "LANG", "TERM"}) CHECK_FALSE(looks_secret(name));
}

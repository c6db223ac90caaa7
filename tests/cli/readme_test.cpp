// What README.md says of the settings is what there is.
#include <fstream>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "actors/base/config_keys.hpp"

namespace {

/// The `words` in the first column of the table whose heading begins with "| key |".
std::multiset<std::string> documented_keys() {
  std::ifstream page(HOLDFAST_README);
  std::string line;
  while (std::getline(page, line) && !line.starts_with("| key |")) {
  }
  std::multiset<std::string> keys;
  while (std::getline(page, line) && line.starts_with("|")) {
    auto const column = line.substr(1, line.find('|', 1) - 1);
    for (auto begin = column.find('`'); begin != std::string::npos;) {
      auto const end = column.find('`', begin + 1);
      keys.insert(column.substr(begin + 1, end - begin - 1));
      begin = column.find('`', end + 1);
    }
  }
  return keys;
}

}  // namespace

TEST_CASE("the table of settings in README.md names every key once and nothing else") {
  std::multiset<std::string> known;
  for (auto const& key : holdfast::detail::config_keys()) known.emplace(key.name);

  CHECK(documented_keys() == known);
}

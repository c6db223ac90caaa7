// Rows of text under headings, in aligned columns; and one row as "name  value" lines. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace holdfast::cli {

class table {
 public:
  explicit table(std::vector<std::string> headings);
  /// As many cells as there are headings. Empty ones are shown as "-".
  void add(std::vector<std::string> row);
  /// A column that says nothing in any row is left out. The last column is not padded.
  std::string render() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the headings first
};

using facts = std::vector<std::pair<std::string, std::string>>;  // name, value
/// One line a fact, values aligned; facts with an empty value are left out.
std::string render_facts(facts const& items);

/// Characters as a terminal shows them, taking each code point as one column.
std::size_t width(std::string const& utf8);

}  // namespace holdfast::cli

#include "bin/holdfast/table.hpp"

#include <algorithm>

namespace holdfast::cli {

std::size_t width(std::string const& utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

table::table(std::vector<std::string> headings) { rows_.push_back(std::move(headings)); }

void table::add(std::vector<std::string> row) {
  row.resize(rows_.front().size());
  rows_.push_back(std::move(row));
}

std::string table::render() const {
  std::vector<std::pair<std::size_t, std::size_t>> columns;  // index, width: those that say something
  for (std::size_t column = 0; column < rows_.front().size(); ++column) {
    auto const speaks = std::any_of(rows_.begin() + 1, rows_.end(), [&](auto const& row) { return !row[column].empty(); });
    if (!speaks) continue;
    std::size_t widest = 1;
    for (auto const& row : rows_) widest = std::max(widest, width(row[column]));
    columns.emplace_back(column, widest);
  }
  std::string text;
  for (auto const& row : rows_) {
    for (auto const& [column, widest] : columns) {
      auto const& shown = row[column].empty() ? "-" : row[column];
      text += shown;
      if (column != columns.back().first) text.append(widest + 2 - width(shown), ' ');
    }
    text += '\n';
  }
  return text;
}

std::string render_facts(facts const& items) {
  std::size_t widest = 0;
  for (auto const& [name, value] : items) {
    if (!value.empty()) widest = std::max(widest, width(name));
  }
  std::string text;
  for (auto const& [name, value] : items) {
    if (value.empty()) continue;
    text += name;
    text.append(widest + 2 - width(name), ' ');
    text += value;
    text += '\n';
  }
  return text;
}

}  // namespace holdfast::cli

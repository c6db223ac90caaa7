// How the fields of a payload become those of a message: words of a table, lists of objects, objects of texts.
// Internal to messages_read.cpp, answers_read.cpp and state_answers.cpp. Problems are noted in the json_fields they are given, the first one stays.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "actors/link/json_reader.hpp"

namespace holdfast::link {

/// The entry of `table` whose text the field is.
template <class Table>
auto word(json_fields& in, std::string_view key, Table const& table) {
  auto const found = in.text(key);
  for (auto const& [entry, text] : table)
    if (text == found) return entry;
  std::string wanted;
  for (auto const& [entry, text] : table) wanted.append(wanted.empty() ? "" : " or ").append(text);
  in.fail(key, '"' + found.substr(0, 64) + '"', wanted);
  return table.front().first;
}

/// Calls `read` with the fields of every object in the list `key`.
template <class Read>
void each_object(json_fields& in, std::string_view key, std::string& problem, Read read) {
  auto const* items = in.list(key);
  if (!items) return;
  for (auto const& item : *items) {
    auto const* found = item.if_object();
    if (!found) return in.fail(key, "a list of something else", "a list of objects");
    json_fields fields{*found, key, problem};
    read(fields);
  }
}

/// Calls `read` with key and text of every entry of the object `key`.
template <class Read>
void each_text(json_fields& in, std::string_view key, std::string& problem, Read read) {
  auto const* entries = in.object(key);
  if (!entries) return;
  json_fields fields{*entries, key, problem};
  for (auto const& entry : *entries) {
    std::string_view const name{entry.key().data(), entry.key().size()};
    read(std::string(name), fields.text(name));
  }
}

}  // namespace holdfast::link

// The words that enumerations of messages.hpp have in JSON; shared by the two halves of its implementation.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "actors/link/messages.hpp"

namespace holdfast::link {

template <class Enum, std::size_t Count>
using word_table = std::array<std::pair<Enum, std::string_view>, Count>;

constexpr word_table<cell_status, 5> done_words{{{cell_status::ok, "ok"},
                                                 {cell_status::error, "error"},
                                                 {cell_status::exit, "exit"},
                                                 {cell_status::timeout, "timeout"},
                                                 {cell_status::interrupted, "interrupted"}}};
constexpr word_table<output_stream, 2> stream_words{{{output_stream::out, "stdout"}, {output_stream::err, "stderr"}}};
constexpr word_table<interrupt_reason, 2> reason_words{
    {{interrupt_reason::interrupt, "interrupt"}, {interrupt_reason::timeout, "timeout"}}};

/// Empty for a value that has no word here, such as a `done` of a queued cell: a bug of the sender.
template <class Table, class Enum>
constexpr std::string_view word_of(Table const& table, Enum value) {
  for (auto const& [entry, word] : table)
    if (entry == value) return word;
  return {};
}

}  // namespace holdfast::link

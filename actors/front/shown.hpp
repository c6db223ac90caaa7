// How a refused value stands in an error's text: short, whatever a client has sent.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

namespace holdfast::front {

constexpr std::size_t max_shown_bytes = 80;

/// The text in quotes; one of more than `max_shown_bytes` as its size only: a cut could split a character.
std::string shown(std::string_view text);
/// A number or a boolean as it is, a text as shown(text), else its type, such as "a list".
std::string shown(boost::json::value const& value);

}  // namespace holdfast::front

#include "actors/base/config_keys.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <spdlog/fmt/fmt.h>

namespace holdfast::detail {
namespace {

constexpr double seconds_most = 10.0 * 365 * 24 * 3600;  // ten years: far from overflow in any unit

std::optional<double> number_of(config_value const& value) {
  if (auto const* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (auto const* real = std::get_if<double>(&value)) return *real;
  auto const* text = std::get_if<std::string>(&value);
  if (!text) return std::nullopt;
  double number = 0;
  auto const [end, problem] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (text->empty() || problem != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return number;
}

/// Seconds, with a fraction if need be. `least` is 0 where 0 means none.
auto seconds(std::chrono::milliseconds config::*field, double least) {
  return [=](config& to, config_value const& value) -> tl::expected<void, wanted> {
    auto const number = number_of(value);
    if (!number || !std::isfinite(*number) || *number < least || *number > seconds_most)
      return tl::unexpected(fmt::format("wanted a number of seconds from {} to {}", least, seconds_most));
    to.*field = std::chrono::milliseconds(std::llround(*number * 1000));
    return {};
  };
}

auto count(std::uint32_t config::*field, std::uint32_t least, std::uint32_t most) {
  return [=](config& to, config_value const& value) -> tl::expected<void, wanted> {
    auto const number = number_of(value);
    if (!number || *number != std::floor(*number) || *number < least || *number > most)
      return tl::unexpected(fmt::format("wanted a whole number from {} to {}", least, most));
    to.*field = static_cast<std::uint32_t>(*number);
    return {};
  };
}

bool is_plain(std::string_view text) { return !text.empty() && text.find('\0') == std::string_view::npos; }

auto text(std::string config::*field) {
  return [=](config& to, config_value const& value) -> tl::expected<void, wanted> {
    auto const* given = std::get_if<std::string>(&value);
    if (!given || !is_plain(*given)) return tl::unexpected(wanted("wanted a text that is not empty"));
    to.*field = *given;
    return {};
  };
}

/// An array of texts in the file; in a variable they are separated by commas, an empty one being the empty list.
auto names(std::vector<std::string> config::*field) {
  return [=](config& to, config_value const& value) -> tl::expected<void, wanted> {
    std::vector<std::string> list;
    if (auto const* many = std::get_if<std::vector<std::string>>(&value)) {
      list = *many;
    } else if (auto const* joined = std::get_if<std::string>(&value)) {
      std::size_t from = 0;
      while (!joined->empty() && from != std::string::npos) {
        auto const comma = joined->find(',', from);
        list.push_back(joined->substr(from, comma == std::string::npos ? comma : comma - from));
        from = comma == std::string::npos ? comma : comma + 1;
      }
    } else {
      return tl::unexpected(wanted("wanted a list of names"));
    }
    for (auto const& name : list)
      if (!is_plain(name) || name.find_first_of("= \t\n") != std::string::npos)
        return tl::unexpected(wanted("wanted a list of names, without blanks and ="));
    to.*field = std::move(list);
    return {};
  };
}

tl::expected<void, wanted> durability(config& to, config_value const& value) {
  auto const* word = std::get_if<std::string>(&value);
  if (!word || (*word != "relaxed" && *word != "strict")) return tl::unexpected(wanted("wanted relaxed or strict"));
  to.strict_durability = *word == "strict";
  return {};
}

tl::expected<void, wanted> fallback(config& to, config_value const& value) {
  auto const* word = std::get_if<std::string>(&value);
  if (!word || (*word != "per_call" && *word != "error")) return tl::unexpected(wanted("wanted per_call or error"));
  to.fallback_per_call = *word == "per_call";
  return {};
}

/// What `import NAME` takes: letters, digits and _, ASCII only.
tl::expected<void, wanted> module_name(config& to, config_value const& value) {
  auto const* name = std::get_if<std::string>(&value);
  auto const is_letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!name || name->empty() || !is_letter(name->front()) ||
      !std::all_of(name->begin(), name->end(), [&](char c) { return is_letter(c) || is_digit(c); }))
    return tl::unexpected(wanted("wanted the name of a module, of letters, digits and _"));
  to.tools_module = *name;
  return {};
}

/// Metrics name no owner, but they are nobody else's either: the loopback only.
tl::expected<void, wanted> metrics_listen(config& to, config_value const& value) {
  constexpr auto what = "wanted off or a loopback address with a port, such as 127.0.0.1:9464";
  auto const* given = std::get_if<std::string>(&value);
  if (!given) return tl::unexpected(wanted(what));
  if (*given != "off") {
    auto const colon = given->rfind(':');
    if (colon == std::string::npos) return tl::unexpected(wanted(what));
    auto const host = given->substr(0, colon);
    unsigned port = 0;
    auto const [end, problem] = std::from_chars(given->data() + colon + 1, given->data() + given->size(), port);
    if ((host != "127.0.0.1" && host != "[::1]" && host != "localhost") || problem != std::errc{} ||
        end != given->data() + given->size() || port == 0 || port > 65'535)
      return tl::unexpected(wanted(what));
  }
  to.metrics_listen = *given;
  return {};
}

}  // namespace

std::span<config_key const> config_keys() {
  static std::vector<config_key> const keys = {
      {"cell_timeout_seconds", seconds(&config::cell_timeout, 0)},
      {"background_after_seconds", seconds(&config::background_after, 0)},
      {"interrupt_grace_seconds", seconds(&config::interrupt_grace, 0.001)},
      {"grace_seconds", seconds(&config::grace, 0.001)},
      {"hello_deadline_seconds", seconds(&config::hello_deadline, 0.001)},
      {"attach_budget_seconds", seconds(&config::attach_budget, 0.001)},
      {"admission_timeout_seconds", seconds(&config::admission_timeout, 0.001)},
      {"idle_seconds", seconds(&config::idle, 0)},
      {"max_kernels", count(&config::max_kernels, 0, 1'000'000)},
      {"max_kernels_hard", count(&config::max_kernels_hard, 0, 1'000'000)},
      {"max_kernels_per_owner", count(&config::max_kernels_per_owner, 0, 1'000'000)},
      {"max_memory_mb", count(&config::max_memory_mb, 0, 1'000'000'000)},
      {"keep_cells", count(&config::keep_cells, 1, 1'000'000)},
      {"keep_cells_days", count(&config::keep_cells_days, 1, 36'500)},
      {"boot_slots", count(&config::boot_slots, 1, 1'024)},
      {"python", text(&config::python)},
      {"pass_env", names(&config::pass_env)},
      {"preload", names(&config::preload)},
      {"durability", durability},
      {"fallback", fallback},
      {"tools_module", module_name},
      {"metrics_listen", metrics_listen},
  };
  return keys;
}

std::string variable_of(std::string_view key) {
  std::string name = "HOLDFAST_";
  for (char const c : key) name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

}  // namespace holdfast::detail

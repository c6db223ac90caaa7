#include "bin/holdfast/usage.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <CLI/CLI.hpp>

namespace holdfast::cli {
namespace {

/// The number that the whole text is, if it is one.
template <class Number>
bool read_number(std::string const& text, Number& number) {
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc{} && end == text.data() + text.size();
}

std::string refused(std::string const& found, std::string const& wanted) { return "found '" + found + "', wanted " + wanted; }

/// A word that no command takes.
std::string describe_extra(CLI::App const& command, std::string const& word) {
  auto const name = command.get_name();
  if (word.size() > 1 && word.front() == '-') {
    // One of its own is left over only where it stands before the command.
    auto const option = word.substr(0, word.find('='));
    if (command.get_option_no_throw(option) != nullptr) return option + " stands behind the command: holdfast " + name + " " + word;
    return name + " has no option " + word;
  }
  auto const advice = name == "run" ? "; the code is one argument: quote it" : "";
  return name + " takes no further argument: found '" + word + "'" + advice;
}

}  // namespace

std::string joined(std::vector<std::string_view> const& words) {
  std::string text;
  for (auto word : words) text += (text.empty() ? "" : " ") + std::string(word);
  return text;
}

std::string lines_of(std::vector<std::string_view> const& words) {
  std::string text = "\n";
  for (auto word : words) text += "  " + std::string(word) + "\n";
  return text;
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  auto const wanted = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  return CLI::Validator(
      [=](std::string& text) {
        std::int64_t number = 0;
        return read_number(text, number) && number >= least && number <= most ? std::string() : refused(text, wanted);
      },
      "");
}

CLI::Validator seconds_up_to(std::int64_t most) {
  auto const wanted = "a number of seconds from 0 to " + std::to_string(most);
  return CLI::Validator(
      [=](std::string& text) {
        double number = 0;
        auto const fits = read_number(text, number) && std::isfinite(number) && number >= 0 && number <= static_cast<double>(most);
        return fits ? std::string() : refused(text, wanted);
      },
      "");
}

CLI::Validator one_of(std::vector<std::string_view> words) {
  auto const wanted = (words.size() == 1 ? "" : "one of: ") + joined(words);
  return CLI::Validator(
      [words = std::move(words), wanted](std::string& text) {
        return std::find(words.begin(), words.end(), text) != words.end() ? std::string() : refused(text, wanted);
      },
      "");
}

std::string in_words(CLI::App const& app, CLI::ParseError const& problem) {
  auto const commands = app.get_subcommands();
  auto const extra = app.remaining(true);
  if (commands.empty()) {
    if (extra.empty()) return "a command is missing";
    return "there is no " + std::string(extra.front().front() == '-' ? "option " : "command ") + extra.front();
  }
  if (dynamic_cast<CLI::ExtrasError const*>(&problem) != nullptr && !extra.empty())
    return describe_extra(*commands.front(), extra.front());
  std::string const text = problem.what();
  if (dynamic_cast<CLI::ArgumentMismatch const*>(&problem) != nullptr) {
    auto const is_repeated = text.find(": At Most ") != std::string::npos;
    return text.substr(0, text.find(':')) + (is_repeated ? " stands more than once" : " needs a value");
  }
  if (dynamic_cast<CLI::RequiredError const*>(&problem) != nullptr) return text.substr(0, text.find(' ')) + " is missing";
  return text;
}

}  // namespace holdfast::cli

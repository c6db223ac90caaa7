// What is wrong with a command line, in words: found and wanted. CLI11's own texts name neither, or name its classes.
// Collaborator: arguments.cpp, which uses these checks and shows this text. Refuses to know what an option is for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class ParseError;
class Validator;
}  // namespace CLI

namespace holdfast::cli {

/// "a b c".
std::string joined(std::vector<std::string_view> const& words);
/// Each on a line of its own.
std::string lines_of(std::vector<std::string_view> const& words);

CLI::Validator whole_number(std::int64_t least, std::int64_t most);
/// Seconds, with a fraction if need be.
CLI::Validator seconds_up_to(std::int64_t most);
CLI::Validator one_of(std::vector<std::string_view> words);

/// Why the line was refused.
std::string in_words(CLI::App const& app, CLI::ParseError const& problem);

}  // namespace holdfast::cli

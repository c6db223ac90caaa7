#include <catch2/catch.hpp>

#include <vector>

#include "bin/holdfast/arguments.hpp"

using namespace holdfast::cli;

namespace {

std::variant<invocation, parse_end> parse_words(std::vector<char const*> words) {
  words.insert(words.begin(), "holdfast");
  return parse(static_cast<int>(words.size()), words.data());
}

template <class Arguments>
Arguments parsed_as(std::vector<char const*> words) {
  auto const outcome = parse_words(std::move(words));
  if (auto const* end = std::get_if<parse_end>(&outcome)) FAIL(end->text);
  return std::get<Arguments>(std::get<invocation>(outcome).what);
}

parse_end refused(std::vector<char const*> words) {
  auto const outcome = parse_words(std::move(words));
  REQUIRE(std::holds_alternative<parse_end>(outcome));
  return std::get<parse_end>(outcome);
}

}  // namespace

TEST_CASE("run takes its code as one word, whatever it looks like") {
  for (auto const* code : {"x = 41", "stop", "run", "-", "[1, 2]", "print('a')\nprint('b')", "", "{a: 1}"}) {
    CHECK(parsed_as<run_arguments>({"run", code}).code == code);
  }
  CHECK(parsed_as<run_arguments>({"run", "--", "-1"}).code == "-1");
}

TEST_CASE("run takes all of its options") {
  auto const given = parsed_as<run_arguments>({"run", "-s",      "s1",     "-o",    "alice",    "-E",         "local",
                                               "-e",  "A=1",     "-e",     "B=x=y", "--python", "python3.11", "--timeout",
                                               "2.5", "--reset", "--cell", "c-1",   "--detach", "-f",         "a.py"});

  CHECK(given.where.session == "s1");
  CHECK(given.where.owner == "alice");
  CHECK(given.env == std::map<std::string, std::string>{{"A", "1"}, {"B", "x=y"}});
  CHECK(given.python == "python3.11");
  CHECK(given.timeout == std::chrono::milliseconds(2500));
  CHECK(given.reset);
  CHECK(given.cell == "c-1");
  CHECK(given.detach);
  CHECK(given.file == "a.py");
  CHECK_FALSE(given.code);
}

TEST_CASE("a variable does not swallow the code behind it") {
  auto const given = parsed_as<run_arguments>({"run", "-e", "A=1", "print(1)"});

  CHECK(given.env.size() == 1);
  CHECK(given.code == "print(1)");
}

TEST_CASE("home and json may stand before and behind the command") {
  for (auto const& words : {std::vector<char const*>{"--home", "/h", "--json", "status"}, {"status", "--home", "/h", "--json"}}) {
    auto const outcome = parse_words(words);
    REQUIRE(std::holds_alternative<invocation>(outcome));
    CHECK(std::get<invocation>(outcome).home == "/h");
    CHECK(std::get<invocation>(outcome).json);
  }
}

TEST_CASE("tools are a list, repeatable, and their absence is not the empty set") {
  using names = std::vector<std::string>;
  CHECK_FALSE(parsed_as<run_arguments>({"run", "1"}).tools.has_value());
  CHECK(parsed_as<run_arguments>({"run", "--tools", "", "1"}).tools == names{});
  CHECK(parsed_as<run_arguments>({"run", "--tools", "a,b", "--tools", "c", "1"}).tools == names{"a", "b", "c"});
}

TEST_CASE("what is not built, not known or not complete is a usage error") {
  for (auto const& words : std::vector<std::vector<char const*>>{{"display"},
                                                                 {"display", "c-1", "-1"},
                                                                 {"fork", "a"},
                                                                 {"variables", "a", "b"},
                                                                 {"close", "--owner", "a", "b"},
                                                                 {"run", "-E", "sandbox", "1"},
                                                                 {"run"},
                                                                 {"run", "-f", "a.py", "1"},
                                                                 {"run", "-e", "A", "1"},
                                                                 {"run", "-e", "=1", "1"},
                                                                 {"run", "--timeout", "soon", "1"},
                                                                 {"run", "--timeout", "-1", "1"},
                                                                 {"run", "1", "2"},
                                                                 {"wait"},
                                                                 {"kernel"},
                                                                 {"cells", "-n", "-1"},
                                                                 {"run", "--tools", "a,,b", "1"},
                                                                 {"run", "--tools", "a,", "1"},
                                                                 {"--json", "logs", "-f", "c-1"},
                                                                 {}}) {
    auto const end = refused(words);
    INFO(end.text);
    CHECK(end.exit_code == 2);
    CHECK(end.text.find("holdfast: ") == 0);
  }
}

TEST_CASE("a usage error says what was found and what is wanted") {
  for (auto const& [words, text] : std::vector<std::pair<std::vector<char const*>, std::string>>{
           {{}, "a command is missing\nsee: holdfast --help"},
           {{"sesions"}, "there is no command sesions\nsee: holdfast --help"},
           {{"--jsno", "status"}, "status has no option --jsno\nsee: holdfast status --help"},
           {{"--jsno"}, "there is no option --jsno\nsee: holdfast --help"},
           {{"run", "x", "=", "1"},
            "run takes no further argument: found '='; the code is one argument: quote it\nsee: holdfast run --help"},
           {{"run", "-t", "5", "1"}, "run has no option -t\nsee: holdfast run --help"},
           {{"-s", "a", "run", "1"}, "-s stands behind the command: holdfast run -s\nsee: holdfast run --help"},
           {{"--session=a", "run", "1"}, "--session stands behind the command: holdfast run --session=a\nsee: holdfast run --help"},
           {{"status", "now"}, "status takes no further argument: found 'now'\nsee: holdfast status --help"},
           {{"run", "--timeout", "soon", "1"},
            "--timeout: found 'soon', wanted a number of seconds from 0 to 31536000\nsee: holdfast run --help"},
           {{"run", "-E", "moon", "1"}, "--environment: found 'moon', wanted local\nsee: holdfast run --help"},
           {{"cells", "-n", "-1"}, "--limit: found '-1', wanted a whole number from 0 to 1000000000\nsee: holdfast cells --help"},
           {{"kernels", "--state", "fine"},
            "--state: found 'fine', wanted one of: starting idle busy unreachable orphan\nsee: holdfast kernels --help"},
           {{"events", "--since", "-1"},
            "--since: found '-1', wanted a whole number from 0 to 9007199254740991\nsee: holdfast events --help"},
           {{"run", "1", "-s"}, "--session needs a value\nsee: holdfast run --help"},
           {{"reset", "-s", "a", "b"}, "reset: takes SESSION or -s SESSION, not both\nsee: holdfast reset --help"},
           {{"run", "-s", "a", "-s", "b", "1"}, "--session stands more than once\nsee: holdfast run --help"},
           {{"run", "-f", "a.py", "--file", "b.py"}, "--file stands more than once\nsee: holdfast run --help"},
           {{"wait"}, "CELL is missing\nsee: holdfast wait --help"},
       })
    CHECK(refused(words).text == "holdfast: " + text + "\n");
}

TEST_CASE("text that is not UTF-8 is a usage error that names its place") {
  for (auto const& [words, text] : std::vector<std::pair<std::vector<char const*>, std::string>>{
           {{"run", "-s", "caf\xe9", "1"}, "--session: found 'caf\\xe9', wanted UTF-8\nsee: holdfast run --help"},
           {{"run", "-o", "\xff", "1"}, "--owner: found '\\xff', wanted UTF-8\nsee: holdfast run --help"},
           {{"run", "-e", "A=1", "-e", "B=\xc3", "1"}, "--env: found 'B=\\xc3', wanted UTF-8\nsee: holdfast run --help"},
           {{"run", "--python", "p\xe9", "1"}, "--python: found 'p\\xe9', wanted UTF-8\nsee: holdfast run --help"},
           {{"run", "--cell", "c\xe9", "1"}, "--cell: found 'c\\xe9', wanted UTF-8\nsee: holdfast run --help"},
           {{"wait", "c\xe9"}, "CELL: found 'c\\xe9', wanted UTF-8\nsee: holdfast wait --help"},
           {{"logs", "c\xe9"}, "CELL: found 'c\\xe9', wanted UTF-8\nsee: holdfast logs --help"},
           {{"kernel", "k\xe9"}, "KERNEL: found 'k\\xe9', wanted UTF-8\nsee: holdfast kernel --help"},
           {{"close", "s\xe9"}, "SESSION: found 's\\xe9', wanted UTF-8\nsee: holdfast close --help"},
       }) {
    auto const end = refused(words);
    CHECK(end.text == "holdfast: " + text + "\n");
    CHECK(end.exit_code == 2);
  }
}

TEST_CASE("a file's name may be any bytes") {
  CHECK(parsed_as<run_arguments>({"run", "-s", "caf\u00e9", "-f", "caf\xe9.py"}).file == "caf\xe9.py");
}

TEST_CASE("the help of a list names the words that it takes") {
  CHECK(refused({"help", "events"}).text.find("kernel_started") != std::string::npos);
  CHECK(refused({"help", "cells"}).text.find("interrupted") != std::string::npos);
}

TEST_CASE("ps is kernels") { CHECK(parsed_as<kernels_arguments>({"ps", "-s", "s1"}).session == "s1"); }

TEST_CASE("a session is named by its place or by -s") {
  CHECK(parsed_as<reset_arguments>({"reset", "s1"}).where.session == "s1");
  CHECK(parsed_as<reset_arguments>({"reset", "-s", "s1"}).where.session == "s1");
  CHECK(parsed_as<close_arguments>({"close"}).where.session == "default");
  CHECK_FALSE(parsed_as<close_arguments>({"close", "-o", "a", "b"}).is_whole_owner);
  CHECK(parsed_as<close_arguments>({"close", "--owner"}).is_whole_owner);
  CHECK(parsed_as<close_arguments>({"close", "--owner", "a"}).where.owner == "a");
}

TEST_CASE("help is no error and names the exit codes and examples") {
  for (auto const& words : std::vector<std::vector<char const*>>{{"--help"}, {"help"}}) {
    auto const end = refused(words);
    CHECK(end.exit_code == 0);
    CHECK(end.text.find("124") != std::string::npos);
    CHECK(end.text.find("kernels") != std::string::npos);
  }
  for (auto const& words : std::vector<std::vector<char const*>>{{"run", "--help"}, {"help", "run"}}) {
    auto const end = refused(words);
    CHECK(end.exit_code == 0);
    CHECK(end.text.find("Examples:") != std::string::npos);
    CHECK(end.text.find("--detach") != std::string::npos);
  }
  CHECK(refused({"help", "nonsense"}).exit_code == 2);
  CHECK(refused({"nonsense", "--help"}).text == refused({"help", "nonsense"}).text);
  CHECK(refused({"--json", "--help"}).exit_code == 0);
}

TEST_CASE("jobs are narrowed like kernels, and a job is shown or stopped") {
  auto const all = parsed_as<jobs_arguments>({"jobs", "-o", "ada", "-s", "s1", "--state", "lost", "-n", "5"});
  CHECK(all.owner == "ada");
  CHECK(all.session == "s1");
  CHECK(all.state == "lost");
  CHECK(all.limit == 5);
  CHECK(refused({"jobs", "--state", "idle"}).exit_code == 2);
  CHECK(parsed_as<job_arguments>({"job", "j-1"}).job == "j-1");
  CHECK_FALSE(parsed_as<job_arguments>({"job", "j-1"}).stop);
  CHECK(parsed_as<job_arguments>({"job", "--stop", "j-1"}).stop);
  CHECK(refused({"job"}).exit_code == 2);
}

TEST_CASE("a kernel is stopped with its namespace saved unless told otherwise") {
  CHECK_FALSE(parsed_as<kernel_arguments>({"kernel", "k-1", "--stop"}).no_save);
  CHECK(parsed_as<kernel_arguments>({"kernel", "k-1", "--stop", "--no-save"}).no_save);
  CHECK(refused({"kernel", "k-1", "--no-save"}).text == "holdfast: --no-save requires --stop\nsee: holdfast kernel --help\n");
}

#include <catch2/catch.hpp>

#include <random>

#include "actors/base/defaults.hpp"
#include "actors/core/result_text.hpp"
#include "actors/link/utf8.hpp"

using namespace holdfast;
using namespace holdfast::core;
using storage::cell_status;

namespace {

constexpr std::size_t roomy = 100'000;
constexpr std::string_view loss = "[state lost: kernel killed by SIGKILL. Variables and imports are gone; define them again.]";

text_facts finished(std::string const& output = {}) {
  text_facts facts;
  facts.cell = "c-1";
  facts.status = cell_status::ok;
  facts.duration_ms = 3200;
  facts.kernel = text_facts::kernel_state{"reused", true, false, false, false, false, {}};
  if (!output.empty()) facts.output = {{{0, output}}, output.size()};
  return facts;
}

text_facts killed(std::string const& output = {}) {
  auto facts = finished(output);
  facts.status = cell_status::lost;
  facts.death = death_facts{"signal", "SIGKILL", {}, {}};
  facts.kernel->ended = facts.kernel->state_lost = true;
  return facts;
}

std::string lines_of(std::size_t count) {
  std::string text;
  for (std::size_t line = 0; line < count; ++line) text += "line " + std::to_string(line) + "\n";
  return text;
}

std::string first_line(std::string const& text) { return text.substr(0, text.find('\n')); }
std::string last_line_of(std::string const& text) { return text.substr(text.rfind('\n') + 1); }
bool contains(std::string const& text, std::string_view what) { return text.find(what) != text.npos; }

}  // namespace

TEST_CASE("a short result is its output, its value and its end") {
  auto facts = finished("hello\n");
  facts.value = "42";

  CHECK(result_text(facts, roomy) == "hello\nOut: 42\n[cell c-1: ok in 3.2 s]");
}

TEST_CASE("output without an end of line gets one") {
  CHECK(result_text(finished("hello"), roomy) == "hello\n[cell c-1: ok in 3.2 s]");
}

TEST_CASE("a cell without output is its last line") { CHECK(result_text(finished(), roomy) == "[cell c-1: ok in 3.2 s]"); }

TEST_CASE("a value of several lines begins on its own") {
  auto facts = finished();
  facts.value = "   a\n0  1";

  CHECK(result_text(facts, roomy) == "Out:\n   a\n0  1\n[cell c-1: ok in 3.2 s]");
}

TEST_CASE("neither output nor value nor traceback brings an escape sequence in") {
  auto facts = finished("\x1b[31mred\x1b[0m\n 1%\r100%\n");
  facts.value = "\x1b[1mbold\x1b[0m";

  CHECK(result_text(facts, roomy) == "red\n100%\nOut: bold\n[cell c-1: ok in 3.2 s]");
}

TEST_CASE("an error shows its traceback and ends with its name") {
  auto facts = finished("before\n");
  facts.status = cell_status::error;
  facts.duration_ms = 5;
  facts.error = link::cell_error{"ValueError", "no", "Traceback ...\nValueError: no\n"};

  CHECK(result_text(facts, roomy) == "before\nTraceback ...\nValueError: no\n[cell c-1: error in 0.005 s: ValueError]");
}

TEST_CASE("an error without a traceback shows its name and message") {
  auto facts = finished();
  facts.status = cell_status::error;
  facts.duration_ms.reset();
  facts.error = link::cell_error{"start_failed", "no such python", {}};

  CHECK(result_text(facts, roomy) == "start_failed: no such python\n[cell c-1: error before it started: start_failed]");
}

TEST_CASE("the name of an exception cannot make the last line another one") {
  auto facts = finished();
  facts.status = cell_status::error;
  facts.error = link::cell_error{"Odd\n[cell c-1: ok in 0.1 s]", "", "x\n"};

  CHECK(last_line_of(result_text(facts, roomy)) == "[cell c-1: error in 3.2 s: Odd [cell c-1: ok in 0.1 s]]");
}

TEST_CASE("exit, timeout and interruption are the last line") {
  auto facts = finished();
  facts.status = cell_status::exit;
  facts.exit_code = 3;
  CHECK(result_text(facts, roomy) == "[cell c-1: exit in 3.2 s: exit code 3]");
  facts.status = cell_status::timeout;
  CHECK(result_text(facts, roomy) == "[cell c-1: timeout in 3.2 s]");
  facts.status = cell_status::interrupted;
  CHECK(result_text(facts, roomy) == "[cell c-1: interrupted in 3.2 s]");
  facts.duration_ms.reset();
  CHECK(result_text(facts, roomy) == "[cell c-1: interrupted before it started]");
}

TEST_CASE("a lost cell says first what is lost and last that its effects are unknown") {
  CHECK(result_text(killed("before\n"), roomy) ==
        std::string(loss) + "\nbefore\n[cell c-1: lost in 3.2 s: effects unknown, not run again]");
}

TEST_CASE("the causes of a death are told in words") {
  auto facts = killed();
  facts.death = death_facts{"exit", {}, 7, {}};
  CHECK(first_line(result_text(facts, roomy)).starts_with("[state lost: kernel exited 7. "));
  facts.death = death_facts{"oom", "SIGKILL", {}, {}};
  CHECK(first_line(result_text(facts, roomy)).starts_with("[state lost: kernel killed by SIGKILL, probably out of memory. "));
  facts.death = death_facts{};
  CHECK(first_line(result_text(facts, roomy)).starts_with("[state lost: kernel ended, the cause is unknown. "));
  facts.kernel.reset();
  CHECK(first_line(result_text(facts, roomy)).starts_with("[state lost: kernel ended, the cause is unknown. "));
}

TEST_CASE("the last words of a dead kernel are shown") {
  auto facts = killed("before\n");
  facts.death->log_tail = "Fatal Python error: Segmentation fault";

  CHECK(contains(result_text(facts, roomy), "before\nFatal Python error: Segmentation fault\n[cell"));
}

TEST_CASE("a cell that was killed at its deadline says that the state is gone") {
  auto facts = finished();
  facts.status = cell_status::timeout;
  facts.kernel->ended = facts.kernel->state_lost = true;
  facts.death = death_facts{"unresponsive", {}, {}, {}};

  CHECK(first_line(result_text(facts, roomy)) ==
        "[state lost: kernel killed, as it did not respond in time. Variables and imports are gone; define them again.]");
}

TEST_CASE("the first cell after a death names it once, before everything else") {
  auto facts = finished("hello\n");
  facts.kernel = text_facts::kernel_state{"died", false, false, true, false, false, {}};
  facts.notices = {{"reattached", "carried on"},
                   {"restarted", "the python kernel was found dead (killed by SIGKILL)"},
                   {"state_lost", "a fresh kernel was started and is empty"}};

  CHECK(result_text(facts, roomy) ==
        "[state lost: the python kernel was found dead (killed by SIGKILL). Variables and imports are gone; define them again.]\n"
        "[reattached: carried on]\nhello\n[cell c-1: ok in 3.2 s]");
}

TEST_CASE("a namespace that could not be restored is told with the reason, one that was restored as news that no cut can hide") {
  auto facts = finished("hello\n");
  facts.kernel =
      text_facts::kernel_state{"died", false, false, true, false, false, "the saved namespace could not be restored: it is cut"};
  facts.notices = {{"state_lost", "the saved namespace could not be restored: it is cut"}};

  CHECK(first_line(result_text(facts, roomy)) ==
        "[state lost: the saved namespace could not be restored: it is cut. Variables and imports are gone; define them again.]");

  facts.kernel = text_facts::kernel_state{"restored", false, true, false, false, false, {}};
  facts.notices = {{"job_finished", "job j-1 has ended"}, {"restored", "it has x again"}};
  CHECK(result_text(facts, roomy).starts_with("[restored: it has x again]\n[job_finished: job j-1 has ended]\nhello\n"));
}

TEST_CASE("a reset is told as one") {
  auto facts = finished();
  facts.kernel = text_facts::kernel_state{"reset", false, false, false, true, false, {}};

  CHECK(first_line(result_text(facts, roomy)).starts_with("[state reset: "));
}

TEST_CASE("losses among the notices stand before the news") {
  auto facts = finished();
  facts.notices = {{"job_finished", "j-1 ended"}, {"fallback", "no kernel could be started"}};

  CHECK(result_text(facts, roomy) == "[fallback: no kernel could be started]\n[job_finished: j-1 ended]\n[cell c-1: ok in 3.2 s]");
}

TEST_CASE("a displayed table is shown as its plain text, line by line, and named") {
  auto facts = finished("");
  facts.displays = {{0, "text/html", 300, true, true, "   a  b\n0  1  2\n"}, {1, "text/plain", 11, true, true, "one\ntwo\n\n"}};

  CHECK(result_text(facts, roomy) ==
        "   a  b\n0  1  2\n[display 0: text/html, 300 bytes, attached]\none\ntwo\n[cell c-1: ok in 3.2 s]");
}

TEST_CASE("displays are listed with type and size") {
  auto facts = finished("plot\n");
  facts.value = "<Figure>";
  facts.displays = {{0, "image/png", 41'984, true, true},
                    {1, "text/html", 300, true, true},
                    {2, "image/png", 2'097'152, false, true},
                    {3, "image/png", 3'291'456, false, false}};

  CHECK(result_text(facts, roomy) ==
        "plot\nOut: <Figure>\n[display 0: image/png, 41 KB, attached]\n[display 1: text/html, 300 bytes, attached]\n"
        "[display 2: image/png, 2.0 MB, cell.display has it]\n[display 3: image/png, 3.1 MB, too large to be kept]\n[cell c-1: ok "
        "in 3.2 s]");
}

TEST_CASE("a running and a queued cell end with how to go on") {
  auto facts = finished("so far\n");
  facts.status = cell_status::running;
  facts.duration_ms = 25'900;

  CHECK(result_text(facts, roomy) ==
        "so far\n[cell c-1: running]\n[... still running after 25 s: cell.wait waits, cell.interrupt stops]");

  facts = finished();
  facts.status = cell_status::queued;
  facts.duration_ms = 100;
  facts.kernel->note = "the daemon was stopped";
  CHECK(result_text(facts, roomy) ==
        "[note: the daemon was stopped]\n[cell c-1: queued]\n"
        "[... still queued after 0 s: cell.wait waits, cell.interrupt stops]");
}

TEST_CASE("long output is cut in its middle, with exact numbers and where to read on") {
  auto const output = lines_of(10'000);
  auto const text = result_text(finished(output), 2000);

  auto const from = text.find("[... ");
  auto const to = text.find(" ...]\n", from);
  REQUIRE(from != text.npos);
  REQUIRE(to != text.npos);
  auto const head = text.substr(0, from);
  auto const tail = text.substr(to + 6, text.rfind('\n') + 1 - (to + 6));
  CHECK(output.starts_with(head));
  CHECK(output.ends_with(tail));
  CHECK(text.substr(from, to - from) ==
        "[... " + std::to_string(output.size() - head.size() - tail.size()) + " of " + std::to_string(output.size()) +
            " bytes left out; read on: cell.output cell=c-1 offset=" + std::to_string(head.size()) + "; do not run it again");
  CHECK(text.size() <= 2000);
  CHECK(text.size() > 1900);
  CHECK(head.size() > 2 * tail.size());
}

TEST_CASE("offsets count raw bytes, also of what a terminal would not show") {
  std::string output;
  for (auto line = 0; line < 1000; ++line) output += "\x1b[32mgreen\x1b[0m\n";
  auto const text = result_text(finished(output), 1000);

  auto const shown = text.find("[... ");
  REQUIRE(shown != text.npos);
  CHECK(contains(text, "offset=" + std::to_string(shown / 6 * 15) + ";"));
}

TEST_CASE("what was not at hand between two parts is told even where all the rest fits") {
  auto facts = finished();
  facts.output = {{{0, "front\n"}, {1000, "end\n"}}, 1004};

  CHECK(result_text(facts, roomy) ==
        "front\n[... 994 of 1004 bytes left out; read on: cell.output cell=c-1 offset=6; do not run it again ...]\nend\n"
        "[cell c-1: ok in 3.2 s]");
}

TEST_CASE("output of which nothing is at hand is left out with its size") {
  auto facts = finished();
  facts.output.total = 70;

  CHECK(contains(result_text(facts, roomy), "[... 70 of 70 bytes left out; read on: cell.output cell=c-1 offset=0; "));
}

TEST_CASE("a long traceback keeps its end, a long value its front") {
  auto facts = finished();
  facts.status = cell_status::error;
  facts.error = link::cell_error{"ValueError", "no", "Traceback\n" + lines_of(5000) + "ValueError: no\n"};
  auto const failed = result_text(facts, 1000);
  CHECK(contains(failed, "\nValueError: no\n[cell c-1: error in 3.2 s: ValueError]"));
  CHECK(failed.starts_with("Traceback\n"));
  CHECK(contains(failed, " bytes of the traceback left out ...]\n"));

  facts = finished();
  facts.value = lines_of(5000);
  auto const valued = result_text(facts, 1000);
  CHECK(valued.starts_with("Out:\nline 0\n"));
  CHECK(contains(valued, " bytes of the value left out ...]\n"));
}

TEST_CASE("neither much output nor a long traceback hides the other") {
  auto facts = finished(lines_of(10'000));
  facts.status = cell_status::error;
  facts.error = link::cell_error{"ValueError", "no", "Traceback\n" + lines_of(5000) + "ValueError: no\n"};
  auto const text = result_text(facts, 2000);

  CHECK(text.starts_with("line 0\n"));
  CHECK(contains(text, "read on: cell.output"));
  CHECK(contains(text, "line 9999\nTraceback\n"));
  CHECK(contains(text, "ValueError: no\n[cell"));
}

TEST_CASE("within the least limit the first and the last line are whole, and what is missing is told") {
  auto facts = killed(lines_of(1000));
  facts.notices = {{"restarted", std::string(2000, 'r')}, {"fallback", std::string(2000, 'f')}};
  facts.displays = {{0, "image/png", 1, true}};
  auto const text = result_text(facts, defaults::text_limit_least);

  CHECK(first_line(text) == loss);
  CHECK(last_line_of(text) == "[cell c-1: lost in 3.2 s: effects unknown, not run again]");
  CHECK(contains(text, " left out ...]\n"));
  CHECK(text.size() <= defaults::text_limit_least);
}

TEST_CASE("the longest id leaves room for a first line within the least limit") {
  auto facts = killed(lines_of(1000));
  facts.cell = std::string(128, 'i');
  facts.duration_ms = 86'400'000;
  auto const text = result_text(facts, defaults::text_limit_least);

  CHECK(first_line(text).starts_with("[state lost: kernel killed by"));
  CHECK(last_line_of(text) == "[cell " + facts.cell + ": lost in 86400.0 s]");
  CHECK(text.size() <= defaults::text_limit_least);
}

TEST_CASE("within the least room the first of many losses is read before their count") {
  auto facts = killed(lines_of(1000));
  facts.cell = std::string(126, 'i');
  facts.duration_ms = 56'561'600;
  facts.notices = {{"fallback", std::string(300, 'f')}, {"evicted", std::string(300, 'e')}};
  auto const text = result_text(facts, defaults::text_limit_least);

  CHECK(first_line(text).starts_with("[state lost: kernel killed by"));
  CHECK(contains(text, "\n[... more left out ...]\n[cell "));
  CHECK(text.size() <= defaults::text_limit_least);
}

TEST_CASE("many notices are cut to a count") {
  auto facts = finished(lines_of(1000));
  for (auto job = 0; job < 100; ++job) facts.notices.push_back({"job_finished", "job j-" + std::to_string(job) + " has ended"});
  auto const text = result_text(facts, 1000);

  CHECK(text.starts_with("[job_finished: job j-0 has ended]\n"));
  CHECK(contains(text, " more notices left out ...]\nline 0\n"));
}

TEST_CASE("whatever the facts and the limit, the text keeps to it, is plain UTF-8 and ends with the end") {
  auto const seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  auto const some = [&](std::size_t most) {
    static std::vector<std::string> const pieces{"a", "\xe2\x82\xac", "\n", "\r", "\x1b[31m", "words of a line\n", "\b"};
    std::string text;
    auto const count = random() % 3 == 0 ? 0 : random() % most;
    while (text.size() < count) text += pieces[random() % pieces.size()];
    return text;
  };
  for (auto round = 0; round < 3000; ++round) {
    text_facts facts;
    facts.cell = std::string(1 + random() % 128, 'c');
    facts.status = static_cast<cell_status>(random() % 8);
    if (random() % 2) facts.duration_ms = random() % 100'000'000;
    if (random() % 2) facts.value = some(2000);
    if (random() % 2) facts.error = link::cell_error{some(200), some(200), some(4000)};
    if (random() % 3 == 0) facts.death = death_facts{"signal", "SIGKILL", {}, some(300)};
    if (random() % 2)
      facts.kernel = text_facts::kernel_state{"died", false, false, random() % 2 == 0, false, random() % 2 == 0, {}};
    for (auto count = random() % 5; count > 0; --count)
      facts.notices.push_back({random() % 2 ? "restarted" : "job_finished", some(400)});
    for (auto count = random() % 5; count > 0; --count) facts.displays.push_back({count, "image/png", random(), random() % 2 == 0});
    std::uint64_t offset = 0;
    for (auto count = random() % 3; count > 0; --count) {
      offset += random() % 2 * 1000;
      facts.output.parts.push_back({offset, some(5000)});
      offset += facts.output.parts.back().text.size();
    }
    facts.output.total = offset + random() % 2 * 500;
    auto const limit = defaults::text_limit_least + random() % 4000;

    auto const text = result_text(facts, limit);

    REQUIRE(text.size() <= limit);
    REQUIRE(link::is_utf8(text));
    REQUIRE(text.find('\x1b') == text.npos);
    REQUIRE(text.find('\r') == text.npos);
    auto const is_final = storage::is_final(facts.status);
    REQUIRE(last_line_of(text).starts_with(is_final ? "[cell " + facts.cell + ": " : "[... still "));
    if (facts.death && (!facts.kernel || facts.kernel->state_lost)) REQUIRE(text.starts_with("[state lost: kernel killed by"));
  }
}

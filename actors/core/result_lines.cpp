#include "actors/core/result_lines.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "actors/core/plain_text.hpp"

namespace holdfast::core {

namespace {

using storage::cell_status;

constexpr std::string_view define_again = ". Variables and imports are gone; define them again.]";

/// A display's plain text of at most so many bytes is shown.
constexpr std::size_t display_shown = 4000;

/// The longest name of an exception in the last line.
constexpr std::size_t name_shown = 48;

std::string formatted(char const* format, double number) {
  std::array<char, 64> text{};
  auto const length = std::snprintf(text.data(), text.size(), format, number);
  return {text.data(), static_cast<std::size_t>(std::max(0, length))};
}

std::string seconds(std::int64_t ms) {
  auto const value = static_cast<double>(std::max<std::int64_t>(0, ms)) / 1000;
  return formatted(ms < 1000 ? "%.3f s" : "%.1f s", value);
}

std::string size_in_words(std::uint64_t bytes) {
  constexpr std::uint64_t kib = 1024, mib = kib * kib;
  if (bytes < kib) return std::to_string(bytes) + " bytes";
  if (bytes < mib) return std::to_string((bytes + kib / 2) / kib) + " KB";
  return formatted("%.1f MB", static_cast<double>(bytes) / static_cast<double>(mib));
}

/// Notices that say why a kernel is gone, so the loss of state names them.
bool is_cause(text_facts::told const& notice) { return notice.kind == "restarted" || notice.kind == "unreachable"; }

bool is_news(text_facts::told const& notice) {
  return notice.kind == "reattached" || notice.kind == "job_finished" || notice.kind == "cell_finished";
}

/// The state that is gone, before this cell or with it. `cause` is the notice that it names, if it does.
std::string state_line(text_facts const& facts, text_facts::told const* cause) {
  auto const& kernel = facts.kernel;
  auto const is_reset = kernel && kernel->state_reset;
  if (facts.death && facts.is_per_call) return "[the interpreter of this cell " + death_in_words(*facts.death) + "]";
  if (facts.death && !is_reset && (!kernel || kernel->state_lost))
    return "[state lost: kernel " + death_in_words(*facts.death) + std::string(define_again);
  if (!kernel) return {};
  if (is_reset) return "[state reset: a fresh kernel on request" + std::string(define_again);
  auto const is_told = kernel->note && !kernel->ended && storage::is_final(facts.status);
  auto const why = is_told ? *kernel->note : "the earlier kernel is gone";
  if (kernel->state_lost) return "[state lost: " + (cause ? cause->text : why) + std::string(define_again);
  if (!kernel->restored && (kernel->reason == "environment_changed" || kernel->reason == "tools_changed"))
    return "[another kernel: other " + std::string(kernel->reason == "tools_changed" ? "tools" : "python or environment") +
           " than before; what was defined before is in the session's other kernel, not in this one]";
  return {};
}

std::string notice_line(text_facts::told const& notice) { return "[" + notice.kind + ": " + notice.text + "]"; }

/// Such as ": exit code 3" behind the time that it took.
std::string ending_detail(text_facts const& facts) {
  switch (facts.status) {
    case cell_status::error:
      return facts.error && !facts.error->name.empty() ? ": " + shortened_line(facts.error->name, name_shown) : "";
    case cell_status::exit: return facts.exit_code ? ": exit code " + std::to_string(*facts.exit_code) : "";
    case cell_status::lost: return ": effects unknown, not run again";
    default: return {};
  }
}

}  // namespace

std::string death_in_words(death_facts const& death) {
  if (death.cause == "unresponsive") return "killed, as it did not respond in time";
  std::string text = "ended, the cause is unknown";
  if (death.signal)
    text = "killed by " + *death.signal;
  else if (death.exit_code)
    text = "exited " + std::to_string(*death.exit_code);
  if (death.cause == "oom") text += ", probably out of memory";
  return text;
}

told_lines lines_told(text_facts const& facts) {
  auto const& notices = facts.notices;
  auto const cause = std::find_if(notices.rbegin(), notices.rend(), is_cause);
  // A kernel that ended with this cell was found dead by nobody yet: an earlier death stands apart from it.
  auto const names_cause = cause != notices.rend() && facts.kernel && facts.kernel->state_lost && !facts.kernel->ended;
  auto const* named = names_cause ? &*cause : nullptr;

  told_lines told;
  auto state = state_line(facts, named);
  auto const has_state = !state.empty();
  if (has_state) told.lines.push_back(std::move(state));
  for (auto const& each : notices)
    if (!is_news(each) && &each != named && !(has_state && each.kind == "state_lost")) told.lines.push_back(notice_line(each));
  told.losses = told.lines.size();
  for (auto const& each : notices)
    if (is_news(each)) told.lines.push_back(notice_line(each));
  for (auto& each : told.lines) each = shortened_line(each, each.size());
  return told;
}

std::vector<std::string> display_lines(text_facts const& facts) {
  std::vector<std::string> lines;
  for (auto const& each : facts.displays) {
    if (!each.text.empty() && each.text.size() <= display_shown) {
      auto shown = plain(each.text);
      while (!shown.empty() && shown.back() == '\n') shown.pop_back();
      lines.push_back(std::move(shown));
      if (each.mime == "text/plain") continue;
    }
    auto const* where = each.attached ? "attached" : each.is_kept ? "cell.display has it" : "too large to be kept";
    lines.push_back("[display " + std::to_string(each.index) + ": " + each.mime + ", " + size_in_words(each.bytes) + ", " + where +
                    "]");
  }
  return lines;
}

outcome_block outcome_of(text_facts const& facts) {
  if (facts.error) {
    auto const& error = *facts.error;
    auto text = !error.traceback.empty() ? error.traceback : error.name + (error.message.empty() ? "" : ": " + error.message);
    return {plain(text), "traceback", true};
  }
  if (facts.value) {
    auto value = plain(*facts.value);
    return {(value.find('\n') == value.npos ? "Out: " : "Out:\n") + value, "value", false};
  }
  if (facts.death && !facts.death->log_tail.empty()) return {plain(facts.death->log_tail), "kernel's log", true};
  return {};
}

std::vector<std::string> state_lines(text_facts const& facts) {
  if (storage::is_final(facts.status)) return {};
  std::vector<std::string> lines;
  if (facts.kernel && facts.kernel->note) lines.push_back(shortened_line("[note: " + *facts.kernel->note + "]", std::string::npos));
  lines.push_back("[cell " + facts.cell + ": " + storage::to_string(facts.status) + "]");
  return lines;
}

std::string last_line(text_facts const& facts, is_detailed detailed) {
  if (!storage::is_final(facts.status))
    return "[... still " + std::string(storage::to_string(facts.status)) + " after " +
           std::to_string(std::max<std::int64_t>(0, facts.duration_ms.value_or(0)) / 1000) +
           " s: cell.wait waits, cell.interrupt stops]";
  return "[cell " + facts.cell + ": " + storage::to_string(facts.status) +
         (facts.duration_ms ? " in " + seconds(*facts.duration_ms) : " before it started") +
         (detailed == is_detailed::yes ? ending_detail(facts) : "") + "]";
}

std::string left_out_line(text_facts const& facts, std::uint64_t bytes, std::uint64_t offset) {
  return "[... " + std::to_string(bytes) + " of " + std::to_string(facts.output.total) +
         " bytes left out; read on: cell.output cell=" + facts.cell + " offset=" + std::to_string(offset) +
         "; do not run it again ...]";
}

}  // namespace holdfast::core

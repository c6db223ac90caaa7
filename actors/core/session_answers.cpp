// Who is told what? Results as they stand, waiters, streams, lists and pages of output.
#include <algorithm>

#include "actors/base/clock.hpp"
#include "actors/base/failpoints.hpp"
#include "actors/core/event_details.hpp"
#include "actors/core/key_json.hpp"
#include "actors/core/list_page.hpp"
#include "actors/core/saved_words.hpp"
#include "actors/core/session_state.hpp"
#include "actors/core/text_of_cell.hpp"
#include "actors/link/json_writer.hpp"

namespace holdfast::core {

using std::chrono::steady_clock;

void session_state::answer_text(reply_to const& to, std::string text) {
  if (failpoint(failpoint_id::core_before_reply)) return;  // as if the client had gone
  self->send(to.front, answer{to.connection, to.request, std::move(text)});
  (void)failpoint(failpoint_id::core_after_reply);
}

void session_state::answer_error(reply_to const& to, error problem) {
  self->send(to.front, answer{to.connection, to.request, tl::unexpected(std::move(problem))});
}

void session_state::answer_result(reply_to const& to, storage::cell_record const& row, std::string_view result, bool replayed) {
  auto answer = with_replayed(result, replayed);
  if (to.text_limit > 0) answer = with_text(std::move(answer), text_of(row, result, output_file(row), to.text_limit));
  answer_text(to, std::move(answer));
}

kernel_facts session_state::kernel_facts_of(slot const& at, storage::cell_record const& cell) const {
  kernel_facts facts;
  auto const& link = at.kernel->row;
  auto const is_first = cell.generation == 1;
  facts.kernel = link.kernel;
  facts.pid = link.process.pid;
  facts.environment = link.environment;
  facts.python = link.python;
  facts.reason = is_first ? shown_reason(link.reason) : "reused";
  facts.state_lost = is_first && facts.reason == "died";
  facts.restored = is_first && link.reason == "restored";
  for (auto const& each : notices) {
    if (facts.restored && each.kind == "restored") facts.skipped = skipped_in(each.details);
    if (is_first && link.reason == "restore_failed" && each.kind == "state_lost") facts.note = each.text;
  }
  facts.state_reset = is_first && link.reason == "reset";
  if (is_first && (link.reason == "environment_changed" || link.reason == "tools_changed"))
    facts.note =
        "other tools, another python or environment than before: this kernel has a namespace of its own; variables defined before "
        "are in the session's other kernel";
  facts.execution_count = cell.generation;
  return facts;
}

result_facts session_state::facts_without_output(live_cell const& cell) const {
  result_facts facts;
  facts.key = own_row.key;
  facts.row = cell.row;
  facts.is_per_call = is_per_call(cell.row);
  if (auto const* at = holder(cell.row.kernel)) facts.kernel = kernel_facts_of(*at, cell.row);
  return facts;
}

result_facts session_state::facts_of(live_cell& cell) const {
  auto facts = facts_without_output(cell);
  if (cell.row.started_at != 0 || cell.output.end() > 0) {
    facts.out = cell.output.summarize(link::output_stream::out);
    facts.err = cell.output.summarize(link::output_stream::err);
    facts.displays = cell.displays.inline_ones();
  }
  return facts;
}

void session_state::answer_current(live_cell& cell, reply_to const& to, std::optional<std::string> note) {
  auto facts = facts_of(cell);
  if (note && facts.kernel) facts.kernel->note = std::move(note);
  answer_result(to, cell.row, result_json(facts), false);
}

void session_state::add_waiter(live_cell& cell, reply_to const& to, std::optional<std::int64_t> wait_ms, bool stream,
                               std::uint64_t offset) {
  waiter made{to, {}, stream, offset};
  if (stream) {
    // What was said so far; the rest comes as it is said.
    for (;;) {
      auto const page = cell.output.read(made.offset, defaults::output_frame_text);
      if (page.chunks.empty()) break;
      for (auto const& each : page.chunks) notify_output(made, cell, each.which, each.offset, each.text);
    }
  }
  if (wait_ms && *wait_ms <= 0) return answer_current(cell, to);
  if (wait_ms) {
    made.until = steady_clock::now() + milliseconds(*wait_ms);
    wake_at(*made.until);
  }
  cell.waiters.push_back(std::move(made));
}

void session_state::notify_output(waiter& to, live_cell const& cell, link::output_stream which, std::uint64_t offset,
                                  std::string_view text) {
  if (offset + text.size() <= to.offset) return;
  auto const dropped = offset > to.offset ? offset - to.offset : 0;
  if (offset < to.offset) {
    text.remove_prefix(to.offset - offset);
    offset = to.offset;
  }
  link::json_writer params({}, text.size() + 256);
  write_key(params, own_row.key).text("cell", cell.row.cell.text).number("seq", ++to.seq).text("stream", to_string(which));
  // dropped_bytes stays last: a front adds what it had to drop itself.
  params.number("offset", offset).text("text", text).number("dropped_bytes", dropped);
  self->send(to.to.front, notification{to.to.connection, "cell.stream", params.take()});
  to.offset = offset + text.size();
}

void session_state::notify_display(waiter& to, live_cell const& cell, link::display const& shown) {
  link::json_writer params({}, 256);
  write_key(params, own_row.key).text("cell", cell.row.cell.text).number("seq", ++to.seq).number("offset", shown.offset);
  params.json("display", display_json(shown)).number("dropped_bytes", 0);
  self->send(to.to.front, notification{to.to.connection, "cell.stream", params.take()});
}

void session_state::finish(storage::cell_record row, std::string_view why) {
  auto found = std::find_if(cells.begin(), cells.end(), [&](auto const& each) { return each.row.number == row.number; });
  if (found == cells.end()) return;
  auto waiters = std::move(found->waiters);
  if (found->awaits_disk) waiters.push_back({found->awaits_disk->from, {}});  // ended before its id was synced
  auto const with_kernel = found->sent_at ? steady_clock::now() - *found->sent_at : steady_clock::duration::zero();
  shared->metrics.on_cell_final(row, with_kernel);
  cells.erase(found);
  for (auto const& each : waiters) answer_result(each.to, row, row.result, false);
  publish("cell_finished", finished_details(row, why));
  shared->move_later(row.session, row.number);
}

result<storage::cell_record> session_state::stored(cell_id const& cell) const {
  auto known = shared->stores->find_cell(own_row.number, cell);
  if (!known) return tl::unexpected(from_storage(known.error()));
  if (!*known)
    return fail(error_code::not_found,
                "no cell " + cell.text + " in session " + own_row.key.session + "; cell.list shows what there is");
  if ((*known)->expired)
    return fail(error_code::cell_expired, "the record of cell " + cell.text + " has expired; it ran, and will not run again");
  auto record = shared->stores->cell(own_row.number, (*known)->number);
  if (!record) return tl::unexpected(from_storage(record.error()));
  if (!*record)
    return fail(error_code::cell_expired, "the record of cell " + cell.text + " has expired; it ran, and will not run again");
  auto found = std::move(**record);
  if (found.result.empty()) {  // not final and not ours to run: it is told as it stands
    result_facts facts;
    facts.key = own_row.key;
    facts.row = found;
    facts.is_per_call = is_per_call(found);
    found.result = result_json(facts);
  }
  return found;
}

void session_state::on_get(reply_to const& from, cell_id const& cell) {
  if (auto* live = find(cell)) return answer_current(*live, from);
  auto record = stored(cell);
  if (!record) return answer_error(from, std::move(record.error()));
  answer_result(from, *record, record->result, true);
  forget_end_of(cell);
}

storage::notice_record session_state::cell_finished_notice(storage::cell_record const& row) const {
  auto text = "cell " + row.cell.text + " has ended (" + storage::to_string(row.status) +
              ") and nobody waited for it; cell.get has its result";
  return make_notice("cell_finished", std::move(text), {row.cell.text});
}

/// It is read: its end is no news any more.
void session_state::forget_end_of(cell_id const& cell) {
  auto const is_of_it = [list = R"("cells":[")" + cell.text + "\"]"](auto const& each) {
    return each.kind == "cell_finished" && each.details.find(list) != std::string::npos;
  };
  auto const found = std::find_if(notices.begin(), notices.end(), is_of_it);
  if (found == notices.end() || !shared->commit({storage::erase_notice{found->session, found->notice}})) return;
  shared->forget_later(found->session, found->notice);
  notices.erase(found);
}

void session_state::on_wait(reply_to const& from, wait_cell const& what) {
  if (auto* live = find(what.cell)) return add_waiter(*live, from, what.wait_ms, what.stream, what.offset);
  auto record = stored(what.cell);
  if (!record) return answer_error(from, std::move(record.error()));
  if (what.stream) {
    auto past = make_live(*record, {});
    waiter to{from, {}, true, what.offset};
    for (;;) {
      auto const page = past.output.read(to.offset, defaults::output_frame_text);
      if (page.chunks.empty()) break;
      for (auto const& each : page.chunks) notify_output(to, past, each.which, each.offset, each.text);
    }
  }
  answer_result(from, *record, record->result, true);
  forget_end_of(what.cell);
}

void session_state::on_list(reply_to const& from, list_cells const& what) {
  cell_number before = 0;
  if (!read_position(what.after, before)) return answer_error(from, not_a_next(what.after));
  std::vector<std::string> rows;
  std::string next;
  std::size_t looked = 0;
  while (next.empty()) {
    auto const page = shared->stores->cells(own_row.number, before, defaults::list_limit_most);
    if (!page) return answer_error(from, from_storage(page.error()));
    for (auto const& recorded : *page) {
      auto const* live = find(recorded.cell);
      auto const& record = live ? live->row : recorded;  // knows more of a running cell than its row
      before = record.number;
      if (what.status && record.status != *what.status) continue;
      link::json_writer row;
      row.text("cell", record.cell.text).text("status", storage::to_string(record.status));
      if (record.started_at != 0)
        row.text("started_at", rfc3339(record.started_at));
      else
        row.null("started_at");
      if (record.started_at != 0)
        row.integer("duration_ms", (record.finished_at != 0 ? record.finished_at : now_ms()) - record.started_at);
      else
        row.null("duration_ms");
      row.number("output_bytes", record.output_bytes).text("source", record.source);
      rows.push_back(row.take());
      if (rows.size() == what.limit) {
        next = std::to_string(record.number);
        break;
      }
    }
    if (page->size() < defaults::list_limit_most) break;
    looked += page->size();
    if (next.empty() && looked >= defaults::list_looks_most) next = std::to_string(before);
  }
  answer_text(from, list_json(rows, next == "1" ? "" : next));
}

void session_state::on_read_output(reply_to const& from, read_output const& what) {
  storage::cell_record record;
  auto is_final = false;
  if (auto* live = find(what.cell)) {
    record = live->row;
  } else {
    auto found = stored(what.cell);
    if (!found) return answer_error(from, std::move(found.error()));
    record = std::move(*found);
    is_final = true;
  }
  output_log log(output_file(record), defaults::output_kept);
  auto const page = log.read(what.offset, what.limit);
  auto const total = std::max<std::uint64_t>(record.output_bytes, log.end());
  auto dropped = page.dropped;
  auto next = page.next_offset;
  // Text beyond what is kept was only counted.
  if (is_final && page.chunks.empty() && next < total) {
    dropped.push_back({next, total});
    next = total;
  }
  link::json_writer out;
  out.json("chunks", link::json_list(page.chunks, [](chunk const& each) {
             link::json_writer item;
             item.text("stream", to_string(each.which)).number("offset", each.offset).text("text", each.text);
             return item.take();
           }));
  out.number("next_offset", next).number("total_bytes", total);
  out.json("dropped", link::json_list(dropped, [](dropped_range const& each) {
             link::json_writer item;
             item.number("from", each.from).number("to", each.to);
             return item.take();
           }));
  out.flag("final", is_final);
  answer_text(from, out.take());
}

}  // namespace holdfast::core

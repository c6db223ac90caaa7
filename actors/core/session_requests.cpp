// What is asked of the kernel beside its cells, and of what a cell left in files: variables, displays. Each asker hears exactly once.
#include "actors/base/clock.hpp"
#include "actors/core/list_page.hpp"
#include "actors/core/session_state.hpp"
#include "actors/link/json_writer.hpp"

namespace holdfast::core {

using std::chrono::steady_clock;

void session_state::ask_kernel(slot& at, link::request what, std::function<void(result<link::answered>)> then,
                               milliseconds patience, bool hears_refusal) {
  if (!at.is_attached() || !at.kernel->port)
    return then(fail(error_code::unreachable, "the kernel of session " + own_row.key.session + " does not answer now; ask again"));
  what.id = "r-" + make_ulid();
  auto const until = steady_clock::now() + patience;
  asked_kernel.emplace(what.id, asked{at.kernel->row.kernel, std::move(then), until, hears_refusal, at.kernel->port->waited()});
  wake_at(until);
  at.kernel->port->send(link::to_json(what));
}

void session_state::on_answered(link::answered answer) {
  auto found = asked_kernel.extract(answer.id);
  if (found.empty()) return;  // of an earlier incarnation, or too late
  auto const& then = found.mapped().then;
  if (!answer.error || found.mapped().hears_refusal) return then(std::move(answer));
  auto const& [kind, message] = *answer.error;
  then(fail(kind == "busy" ? error_code::busy : kind == "not_found" ? error_code::not_found : error_code::unreachable, message));
}

void session_state::refuse_asked(std::optional<kernel_id> const& of) {
  auto const now = steady_clock::now();
  for (auto at = asked_kernel.begin(); at != asked_kernel.end();) {
    auto& each = at->second;
    if (each.of != of && each.until <= now) each.until += waited_since(each.of, each.waited);
    if (each.of != of && each.until > now) {
      wake_at(each.until);
      ++at;
      continue;
    }
    auto const then = std::move(each.then);
    at = asked_kernel.erase(at);
    then(fail(error_code::unreachable, "the kernel of session " + own_row.key.session + " did not answer; ask again"));
  }
}

void session_state::on_list_variables(reply_to const& from, list_variables const& what) {
  std::uint64_t after = 0;
  if (!read_position(what.after, after)) return answer_error(from, not_a_next(what.after));
  auto& at = slots.at(own_row.slot);
  if (!at.kernel) return answer_text(from, R"({"items":[],"next":null})");
  if (!cells.empty())
    return answer_error(from, {error_code::busy,
                               "session " + own_row.key.session + " is busy with cell " + cells.front().row.cell.text +
                                   "; its variables can be listed when it is idle",
                               {}});
  ask_kernel(at, {{}, "variables", {}, {{"after", after}, {"limit", what.limit}}}, [this, from](result<link::answered> answer) {
    if (!answer) return answer_error(from, std::move(answer.error()));
    // The rows are the kernel's own words: read and written anew, so that only what is described is passed on.
    auto const found = link::variables_of(answer->body);
    if (!found) return answer_error(from, {error_code::unreachable, "the kernel's answer could not be read: " + found.error(), {}});
    link::json_writer out;
    out.json("items", link::json_list(found->rows, [](link::variable const& each) {
               link::json_writer row;
               row.text("name", each.name).text("type", each.type);
               if (each.bytes)
                 row.integer("bytes", *each.bytes);
               else
                 row.null("bytes");
               return row.text("preview", each.preview).take();
             }));
    answer_text(from, (found->next ? out.text("next", std::to_string(*found->next)) : out.null("next")).take());
  });
}

void session_state::on_read_display(reply_to const& from, read_display const& what) {
  auto const* live = find(what.cell);
  std::optional<storage::cell_record> record;
  if (live == nullptr) {
    auto found = stored(what.cell);
    if (!found) return answer_error(from, std::move(found.error()));
    record = std::move(*found);
  }
  auto const directory = display_directory(live ? live->row : *record);
  self->send(shared->files, read_display_file{from, directory.string(), what.index, what.mime});
}

}  // namespace holdfast::core

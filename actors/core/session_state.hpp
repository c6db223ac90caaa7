// The state of one session and all it does with it. Internal to the session_*.cpp files, each of which answers one question:
// slots (in which kernel?), accept (may a cell run?), capacity (is there room?), frames (what did its kernel say?), saving (where is its
// namespace?), fork (another session with a copy), jobs (what became of what a cell started?), row (how is it listed?), requests (what is
// asked beside cells?), death (what is lost?), orphans (what was given up?), per_call (what runs without a kernel?), ending (reset, close,
// stop), wind_down, answers (who is told what?). Everything is recorded first, then told. Runs on the multiplexer thread.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "actors/base/caf.hpp"
#include "actors/core/context.hpp"
#include "actors/core/messages.hpp"
#include "actors/core/result_json.hpp"
#include "actors/core/session.hpp"
#include "actors/core/session_parts.hpp"

namespace holdfast::core {

struct session_state final : session_face {
  session_state(caf::io::broker* broker, shared_context context, storage::session_record record, bool fresh);

  caf::io::broker* self;
  shared_context shared;
  storage::session_record own_row;
  bool on_disk;  // its row is synced in `disk`
  std::deque<arrival> arrivals;
  /// In order of acceptance, whatever their kernels. With one are those in the background and at most one more: the foreground cell.
  std::deque<live_cell> cells;
  std::map<std::uint32_t, slot> slots;          // as own_row.slots
  std::vector<storage::notice_record> notices;  // not ridden, not acked
  std::vector<storage::job_record> jobs;        // that run, oldest first; also those that outlive an earlier kernel
  std::vector<orphan> orphans;                  // given up and not ended yet, oldest first
  cell_number last_number = 0;
  std::vector<reply_to> reset_waiters, close_waiters;
  std::optional<steady_time> store_retry_at;  // some slot has something stalled
  std::optional<late_output> late;
  std::optional<steady_time> dispatch_retry_at;  // the first cell waits for the store
  bool closing = false;                          // no call but close is taken any more
  bool gone = false;                             // closed, its rows erased: nothing is answered but that
  bool row_asked = false;                        // its row is on its way to disk
  bool ending_kernels = false;                   // the gateway ends, and its kernels with it
  std::optional<bool> winding_down;              // once nothing runs without a kernel any more; whether kernels are ended
  std::uint64_t interpreters = 0;                // started for cells without a kernel so far: their numbers
  /// Asked of the kernel beside cells, by id: who hears the answer, and until when it may come.
  struct asked {
    kernel_id of;
    std::function<void(result<link::answered>)> then;
    steady_time until;
    bool hears_refusal = false;       // as an answer with an error; else it is made one of ours
    steady_time::duration waited{0};  // as live_cell's
  };
  std::map<std::string, asked> asked_kernel;
  std::vector<job_waiter> job_waiters;
  std::optional<fork_reply> fork_asked;  // this session came to be by it: answered once its kernel is attached
  /// Forks that are underway, each with a number of its own.
  std::map<std::uint32_t, session_copy> copies;
  std::uint32_t last_copy = 0;
  kernel_roll::turn turn;                      // while it waits for room for its next kernel
  shortage short_of = shortage::none;          // what there was no room in, last
  std::optional<steady_time> admission_until;  // for accepted cells that wait for room
  std::size_t idle_kernels = 0;                // by the last message
  bool was_refused = false;                    // a run, in this incarnation of its actor
  /// While the rows of a session in which nothing has happened are erased: what is asked of it meanwhile, for whoever bears its name next.
  std::optional<std::vector<session_call>> held_back;
  bool unloaded = false;  // it is in the stores only: what still comes is handed to the supervisor
  alarm wake;

  // session_face
  session_number number() const override { return own_row.number; }
  char const* state() const override;
  std::string row() const override;
  std::vector<kernel_view> kernels() const override;
  void add_candidates(std::vector<candidate>& into) const override;
  void on_measured(std::unordered_map<std::string, std::uint64_t> const& bytes) override;
  std::size_t queued() const override;
  void forget_notices(std::vector<notice_id> const& ids) override {
    std::erase_if(notices, [&](auto const& each) { return std::find(ids.begin(), ids.end(), each.notice) != ids.end(); });
  }

  void forget_connection(caf::actor const& front, std::uint64_t connection) override {
    for (auto& cell : cells)
      std::erase_if(cell.waiters, [&](auto const& each) { return each.to.front == front && each.to.connection == connection; });
  }

  /// By the records a present kernel has this cell, or had it when an earlier incarnation ended.
  bool is_out(live_cell const& cell) const { return holder(cell.row.kernel) != nullptr; }
  bool is_out(live_cell const& cell, slot const& at) const { return at.has(cell.row.kernel); }
  /// It has neither a kernel nor an interpreter of its own.
  bool is_queued(live_cell const& cell) const { return !cell.alone && !is_out(cell); }

  // session_slots.cpp
  /// The slot that has this kernel; null: none has.
  slot* holder(kernel_id const& kernel);
  slot const* holder(kernel_id const& kernel) const;
  /// Where the cell is, or goes to.
  slot& place_of(live_cell const& cell);
  slot const& place_of(live_cell const& cell) const;
  storage::kernel_slot const& key_of(slot const& at) const { return slot_in(own_row, at.number); }
  /// What the run asks for; what it leaves out is as for the cell before it.
  storage::kernel_slot key_for(run_cell const& what) const;
  /// The slot of that key; null: there is none.
  slot* find_slot(storage::kernel_slot const& key);
  slot const* find_slot(storage::kernel_slot const& key) const;
  /// As find_slot, or a new one in own_row, which is not recorded yet; an error when there are too many.
  result<std::uint32_t> make_slot(storage::kernel_slot key);
  /// The slot of a link that was recorded before the row had it.
  void take_key(storage::link_record const& link);
  /// From now on the session's row is this one; slots are made and forgotten by it.
  void take_row(storage::session_record row);
  void spawn_kernel(slot& at);
  bool has_kernel() const;
  kernel_view view_of(slot const& at) const;

  // session.cpp
  void load(std::vector<storage::link_record> links, session_records records);
  void on_call(session_call& call);
  void advance();
  void on_wake();
  void retry_stalled();
  void on_disk_committed(disk_committed const& answer);
  void on_retire();
  caf::actor address() const { return caf::actor_cast<caf::actor>(self); }
  void wake_at(steady_time when) { wake.at(self, when); }
  void publish(std::string_view kind, std::string details) const { shared->events.publish(kind, own_row.key, std::move(details)); }
  std::filesystem::path output_file(storage::cell_record const& cell) const;
  std::filesystem::path display_directory(storage::cell_record const& cell) const;
  live_cell make_live(storage::cell_record row, storage::outbox_record outbox) const;
  live_cell* find(cell_id const& cell);
  live_cell* find(cell_number number);
  /// The first that is not in the background, out or not; null: there is none.
  live_cell* foreground();
  live_cell const* foreground() const;
  bool has_cells_out(slot const& at) const;
  /// Whose it is what names no cell: of those in that kernel the foreground one, else the oldest in the background; null: none is there.
  live_cell* most_likely(slot const& at);
  /// Those in that kernel end for this reason when it does, unless one was given already.
  void end_cells_out(slot const& at, cell_ending why);

  // session_accept.cpp
  void on_run(reply_to from, run_cell what);
  void accept_arrivals();
  bool accept_front();
  std::optional<error> why_refused(run_cell const& what) const;
  storage::cell_record row_of_front();
  void record_front(slot& at);
  bool replay(arrival& front);
  bool take_settings(run_cell const& what);
  void refuse_front(error problem);
  void start_kernel(storage::kernel_slot const& key, run_cell const* asking);
  void ask_for_row();
  void tell_accepted(live_cell& cell, arrival const& accepted);
  void on_cell_synced(cell_number number, std::optional<storage::failure> const& problem);
  void try_again_later();
  void dispatch();
  bool begins_with_reset(live_cell const& cell);
  void send_execute(slot& at, live_cell& cell);

  // session_capacity.cpp
  /// Whether a kernel of that key may be started now; if not, the session waits in the queue for one. `for_cells`: accepted ones need it.
  bool is_admitted(storage::kernel_slot const& key, bool for_cells);
  void leave_queue();
  /// What there is no room in.
  std::string shortage_in_words() const;
  error not_admitted() const;
  void end_unadmitted();
  void on_room();
  /// A cell of it runs or is queued.
  bool has_cells(slot const& at) const;
  /// Live ones.
  std::size_t count_jobs(slot const& at) const;
  bool is_idle(slot const& at) const;
  void on_hibernate(hibernate_kernel const& order);
  bool may_unload() const;
  bool has_aged_kernel() const;
  /// Behind each message: what others must know of what it changed.
  void after_message();

  // session_frames.cpp
  struct batch;
  void on_live(kernel_live const& told);
  void on_attached(kernel_attached const& told);
  void on_unreachable(kernel_unreachable const& told);
  void on_said(kernel_said told);
  bool take(slot& at, std::vector<said> const& frames);
  bool record_batch(slot& at, batch& changed);
  live_cell* at_work(slot const& at, cell_id const& cell, std::uint64_t generation);
  void take_started(batch& into, link::started const& frame);
  void take_background(batch& into, link::background const& frame);
  void take_done(batch& into, link::done const& frame);
  void take_unreadable(batch& into, said const& frame, unreadable const& why);
  void on_display(slot const& at, link::display shown);
  void on_output(live_cell& cell, link::output_stream which, std::uint64_t offset, std::string_view text);
  void on_late_output(slot const& at, link::output const& frame);
  void set_overdue(live_cell& cell);
  /// How long what was to reach the kernel has waited since `seen`, which is brought up to date.
  steady_time::duration waited_since(kernel_id const& kernel, steady_time::duration& seen) const;
  void guard_background();

  // session_jobs.cpp
  /// Whether the frame was about jobs.
  bool take_job_frame(batch& into, link::from_kernel const& what) const;
  void take_job_started(batch& into, link::job_started const& frame) const;
  void take_job_finished(batch& into, link::job_finished const& frame) const;
  void take_jobs_read(batch& into, link::jobs_read const& frame) const;
  /// The row of a running job of the present kernel as the batch has it; null: there is none.
  storage::job_record* running_job(batch& into, job_id const& job) const;
  /// Recorded: from now on the session has these jobs so, and whoever waits for one hears of it.
  void keep_jobs(std::vector<storage::job_record> const& changed);
  std::vector<storage::job_record> jobs_of(kernel_id const& kernel) const;
  std::vector<storage::job_record> jobs_of(slot const& at) const;
  std::vector<storage::job_record> jobs_after_death(kernel_id const& kernel, remains const& left) const;
  void settle_kept_jobs();
  std::size_t live_jobs() const;
  bool is_out_of_reach(storage::job_record const& job) const;
  void on_job_call(job_call const& call);
  void on_stop_job(reply_to const& from, storage::job_record const& job);
  void on_read_job_output(reply_to const& from, storage::job_record const& job, read_job_output const& what);
  void on_job_group_ended(job_group_ended const& told);
  void await_job_end(job_id const& job, reply_to const& to);
  void answer_job(job_id const& job, reply_to const& to);
  void answer_job_waiters(steady_time until);

  // session_death.cpp
  storage::session_record row_after_failed_start(slot const& at) const;
  void on_start_failed(kernel_start_failed const& told);
  void on_dead(kernel_dead told);
  void on_left(kernel_left const& told);
  storage::cell_record settled(slot const& at, live_cell& cell, kernel_dead const& told,
                               std::vector<storage::notice_record> const& riding) const;
  void stall(slot& at, news told);
  /// The end of the last cell that it tells of, 0 for none; none: the store does not take what it said.
  std::optional<storage::unix_ms> take_last_words(slot& at, remains& left);
  kernel_loss loss_of(slot const& at, kernel_dead const& told);
  std::optional<storage::notice_record> notice_of_loss(slot const& at, kernel_dead const& told, kernel_loss const& loss) const;
  void take_loss(slot& at, kernel_dead const& told, kernel_loss loss);
  /// One kernel less: whatever waited for that.
  void go_on_without_kernel();
  /// Recorded already: rides on the next result.
  void add_notice(storage::notice_record notice);
  storage::notice_record make_notice(std::string kind, std::string text, std::vector<std::string> const& lost,
                                     std::vector<storage::job_record> const& of_jobs = {}) const;

  // session_orphans.cpp
  void on_silent(kernel_silent const& told);
  /// The slot gets a new number in that row, and waiting cells go with it: at its grace an orphan may save itself under the old one.
  std::uint32_t renumbered(storage::session_record& row, slot const& at, storage::changes& unit) const;
  void take_number(slot& at, std::uint32_t number);
  void adopt_orphan(storage::link_record link);
  kernel_view view_of(orphan const& of) const;
  /// That one, or all, without waiting for the idle limit.
  void end_orphans(std::optional<kernel_id> const& only = {});
  void look_at_orphans(steady_time now);
  void on_orphan_dead(kernel_dead const& told);

  // session_per_call.cpp
  /// The first of the arrivals, for which there is no kernel; false when it must wait for something.
  bool run_front_alone();
  void on_per_call_ready(env::per_call_ready const& told);
  void on_per_call_refused(env::per_call_refused const& told);
  void on_per_call_said(env::per_call_said const& told);
  void on_per_call_ended(env::per_call_ended told);
  void refuse_front_alone(std::string const& why);
  void record_front_alone();
  void begin_alone(live_cell& cell);
  storage::cell_record ended_alone(live_cell& cell, env::per_call_ended const& told);
  /// The cell that runs without a kernel; null: none does.
  live_cell* alone();
  bool runs_alone() const {
    return std::any_of(cells.begin(), cells.end(), [](auto const& each) { return each.alone != nullptr; });
  }
  /// Kills it, for this reason; false: there is none.
  bool end_alone(cell_ending why);

  // session_ending.cpp
  void send_interrupt(slot const& at, live_cell const& cell);
  void on_interrupt(reply_to const& from, interrupt_cell const& what);
  void on_reset(reply_to from);
  result<void> forget_namespaces();
  /// Once nothing that a reset has ended is there any more.
  void answer_resets();
  void on_close(reply_to from);
  void begin_close();
  void on_stop(stop_session_kernel const& order);
  void end_kernel_for(slot& at, end_reason reason, end_kernel::how way);
  void on_close_ready();
  /// Nothing has ever happened in it but that runs were refused: it is not kept.
  bool is_blank() const;
  void forget_blank();
  void on_blank_erased(std::optional<storage::failure> const& problem);
  bool runs_nothing() const { return !has_kernel() && !runs_alone() && orphans.empty(); }
  void finish_close();
  bool end_queued(live_cell& cell, storage::cell_status status, std::optional<link::cell_error> why);

  // session_wind_down.cpp
  void on_wind_down(bool end_kernels);
  void begin_to_end_kernels();
  void interrupt_unsent(slot& at);
  void end_idle_kernels();
  void end_all_at_once();
  void refuse_arrivals();

  // session_saving.cpp
  /// Restores the saved namespace, or erases one that is not to be restored; called whenever something has changed.
  void settle_saved(slot& at);
  bool is_hibernated(slot const& at) const { return !at.kernel && at.saved.row && !is_unwanted(at); }
  /// A reset has come since it was saved.
  bool is_unwanted(slot const& at) const { return key_of(at).fresh_reason == "reset"; }
  std::string next_kernel_reason(slot const& at, bool begins_with_reset) const;
  /// Something ran in its kernel, or was given to it.
  static bool has_namespace(slot const& at) {
    auto const& link = at.kernel->row;
    return link.generation > 0 || link.reason == "restored" || link.reason == "forked";
  }
  void part_with(slot& at);
  void save_and_end(slot& at, saving_order order);
  void on_snapshot(slot& at, saving_order const& order, std::uint64_t generation, result<link::answered> answer);
  void not_saved(slot& at, saving_order const& order, error why, bool is_busy);
  void record_saved(slot& at, storage::saved_record row);
  void on_saved_recorded(slot& at, std::optional<storage::failure> const& problem);
  /// True: its end is looked at again once it is recorded, or not, where the namespace is now: in the file that it saved at its end, or no
  /// more in one that was restored. `last_ran`: the end of its last cell.
  bool waits_for_saved(slot& at, kernel_dead& told, storage::unix_ms last_ran);
  void restore_saved(slot& at);
  void on_restored(slot& at, result<link::answered> answer);
  void give_up_saved(slot& at, std::string const& why);
  void erase_saved(slot& at, std::optional<storage::notice_record> notice);
  void erase_saved_untold(slot& at);
  void on_saved_erased(slot& at, std::optional<storage::failure> const& problem);
  void remove_state_files() const;

  // session_fork.cpp
  void on_fork(reply_to const& from, fork_session const& what);
  std::optional<error> why_not_forked() const;
  storage::session_record copy_of_row(std::string const& into) const;
  storage::link_record link_of_clone(slot const& at, session_number of) const;
  void ask_for_clone(std::uint32_t id, storage::link_record const& link);
  void on_forked(std::uint32_t id, kernel_id const& kernel, result<link::answered> answer);
  void on_file_copied(file_copied const& told);
  void on_part_copied(std::uint32_t id, std::optional<error> problem);
  void record_copy(std::uint32_t id);
  void on_copy_recorded(std::uint32_t id, std::optional<storage::failure> const& problem);
  void finish_copy(std::uint32_t id);
  void drop_copy(std::uint32_t id, error why);
  /// This session ends before its copies are there.
  void refuse_copies(error const& why);
  void answer_fork();
  void answer_fork(error why);

  // session_requests.cpp
  /// `then` hears exactly once: the answer, the kernel's own refusal, or `unreachable` when patience or kernel end.
  void ask_kernel(slot& at, link::request what, std::function<void(result<link::answered>)> then,
                  milliseconds patience = defaults::request_deadline, bool hears_refusal = false);
  void on_answered(link::answered answer);
  /// Those whose time is over, and all of it.
  void refuse_asked(std::optional<kernel_id> const& of = {});
  void on_list_variables(reply_to const& from, list_variables const& what);
  void on_read_display(reply_to const& from, read_display const& what);

  // session_answers.cpp
  void answer_text(reply_to const& to, std::string text);
  void answer_error(reply_to const& to, error problem);
  /// `result` is the object of that row as JSON text; its `text` is made for whoever wants one.
  void answer_result(reply_to const& to, storage::cell_record const& row, std::string_view result, bool replayed);
  void answer_current(live_cell& cell, reply_to const& to, std::optional<std::string> note = {});
  void add_waiter(live_cell& cell, reply_to const& to, std::optional<std::int64_t> wait_ms, bool stream, std::uint64_t offset);
  void notify_output(waiter& to, live_cell const& cell, link::output_stream which, std::uint64_t offset, std::string_view text);
  void notify_display(waiter& to, live_cell const& cell, link::display const& shown);
  result_facts facts_without_output(live_cell const& cell) const;
  result_facts facts_of(live_cell& cell) const;
  kernel_facts kernel_facts_of(slot const& at, storage::cell_record const& cell) const;
  /// The cell is final and recorded: tells its waiters and forgets it. `why` is for its event.
  void finish(storage::cell_record row, std::string_view why);
  void on_get(reply_to const& from, cell_id const& cell);
  storage::notice_record cell_finished_notice(storage::cell_record const& row) const;
  void forget_end_of(cell_id const& cell);
  void on_wait(reply_to const& from, wait_cell const& what);
  void on_list(reply_to const& from, list_cells const& what);
  void on_read_output(reply_to const& from, read_output const& what);
  result<storage::cell_record> stored(cell_id const& cell) const;
};

}  // namespace holdfast::core

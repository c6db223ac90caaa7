// What a session is made of: runs that wait, live cells, kernels and saved namespaces by kernel key. Values of session_state.hpp, like it
// internal to the session_*.cpp files; decide nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "actors/base/caf.hpp"
#include "actors/core/context.hpp"
#include "actors/core/display_store.hpp"
#include "actors/core/messages.hpp"
#include "actors/core/output_log.hpp"
#include "actors/env/per_call.hpp"

namespace holdfast::core {

/// Why a cell is being ended before it is done by itself.
enum class cell_ending : std::uint8_t { none, interrupt, timeout, reset, close };

/// A call that waits for a cell.
struct waiter {
  reply_to to;
  std::optional<steady_time> until;  // none: until final
  bool stream = false;
  std::uint64_t offset = 0;  // of the next text to notify
  std::uint64_t seq = 0;     // of its last cell.stream
};

/// A run that is not accepted yet; they are looked at strictly in order.
struct arrival {
  reply_to from;
  run_cell what;
  storage::digest code{};
  steady_time deadline;      // for its kernel, from admission_timeout
  std::uint32_t deaths = 0;  // kernels that died while they started for it
  /// Why no kernel could be started for it: it runs without one, as soon as it is the first and no cell is in the foreground.
  std::optional<error> no_kernel = {};
  std::optional<env::per_call> interpreter = {};  // started for that, with nothing of the cell; accepted once it is ready
};

/// The final cell that wrote late last: its log stays open for what follows.
struct late_output {
  cell_id cell;
  output_log output;
};

/// A job.stop that is answered when the end of the job is recorded, at the latest then.
struct job_waiter {
  job_id job;
  reply_to to;
  steady_time until;
};

/// What there is of an accepted cell that runs without a kernel.
struct kernelless_run {
  env::per_call interpreter;
  storage::notice_record notice;                  // recorded; rides on its result, on no other
  std::optional<env::per_call_ended> ended = {};  // while its result waits for the store
};

/// An accepted cell that is not final.
struct live_cell {
  storage::cell_record row;
  /// What it takes to send it; the code is there until its start is recorded.
  storage::outbox_record outbox;
  std::optional<steady_time> sent_at;  // by this incarnation, to the present kernel
  bool sent = false;                   // handed to the present kernel in this incarnation, or known to run there
  cell_ending ending = cell_ending::none;
  std::optional<steady_time> overdue;  // its kernel should have ended it by then: killed
  steady_time::duration waited{0};     // kernel_port::waited() when that was set: put off by what has come since
  std::vector<waiter> waiters;
  output_log output;
  display_store displays;
  std::optional<arrival> awaits_disk;          // strict durability: neither told nor sent before its id is synced
  std::unique_ptr<kernelless_run> alone = {};  // it runs, or is about to, without a kernel; its row names none
};

/// By its row: it was started without a kernel.
inline bool is_per_call(storage::cell_record const& row) { return row.started_at != 0 && row.kernel.empty(); }

/// What a session asks the disk store, so that it knows the answers apart. Of what concerns a slot or a copy its number is added, below
/// slots_tagged; above `first_cell`: the number of an accepted cell.
inline constexpr std::uint64_t slots_tagged = 1ULL << 32;
enum disk_tag : std::uint64_t {
  session_row,
  session_end,
  saved_put = slots_tagged,
  saved_erased = 2 * slots_tagged,
  copy_put = 3 * slots_tagged,
  first_cell = 4 * slots_tagged
};

/// The saved namespace of a slot and what is underway with it.
struct saved_namespace {
  enum class step : std::uint8_t { none, snapshot, recording, restoring, erasing };

  std::optional<storage::saved_record> row;  // as `disk` has it; while it is there no cell is sent to a kernel
  step now = step::none;
  storage::saved_record coming;                   // while recording: what row will be
  std::optional<storage::notice_record> evicted;  // while recording: recorded with it
  std::optional<kernel_dead> ended;               // while recording or erasing: the kernel's end, looked at again once that is done
  std::optional<storage::notice_record> notice;   // while erasing: recorded with it
  std::vector<notice_id> withdrawn;               // while erasing: erased with it, as they would be untrue
  std::uint32_t failures = 0;                     // kernels that ended while they restored it, or did not answer
};

/// Why a kernel is ended with its namespace saved, and who asked.
struct saving_order {
  kernel_id kernel;
  end_reason why = end_reason::stop;         // or hibernated
  std::string reason;                        // of the row
  bool even_in_part = true;                  // else nothing is ended if some names cannot be saved
  std::optional<reply_to> from = {};         // of a stop
  std::optional<eviction_reason> told = {};  // hibernated: what the session's notice says
};

/// A fork of the session until the copy is recorded.
struct session_copy {
  reply_to from;
  storage::session_record made;
  std::vector<storage::link_record> clones = {};  // recorded as intended
  std::vector<kernel_roll::place> places = {};    // counts them
  std::vector<storage::saved_record> saved = {};  // their files are copied
  std::vector<std::string> left = {};             // what stays with the original, as JSON objects
  std::size_t awaited = 0;                        // clones and files that are not there yet
  std::optional<error> problem = {};              // the first
  bool is_recording = false;                      // in `disk`
};

/// The kernel of a slot, from its intended link to its proven end.
struct session_kernel {
  caf::actor actor;
  storage::link_record row;
  std::shared_ptr<kernel_port> port;  // since its first attach of this incarnation
  bool attached = false;
  std::optional<end_reason> ending;  // ordered to end: it gets no more cells
  bool is_foreign = false;           // it speaks another protocol: it gets no more cells, and is ended once nothing runs in it
  bool was_tried = false;            // in this incarnation: it was attached, or could not be
  /// The session's row as it was before it took over what the run that this kernel is started for asks of it; none: found in the records.
  std::optional<storage::session_record> row_before = {};
  kernel_roll::place place = {};                         // counts it
  storage::unix_ms save_again_at = 0;                    // a save has failed: it is not hibernated before then
  bool has_not_saved = false;                            // at the end of the gateway: it is ended without
  std::optional<std::uint64_t> partly_saveable_at = {};  // the generation at which a snapshot left names out
};

/// What a kernel told and the store may not take.
using news = std::variant<std::monostate, kernel_said, kernel_dead, kernel_start_failed>;

/// A kernel key of the session with its kernel, or with where its namespace is meanwhile. Its row is in own_row.slots, by the same number.
struct slot {
  std::uint32_t number = 0;
  std::optional<session_kernel> kernel;
  saved_namespace saved;
  /// What its kernel told and the store did not take: nothing of it has happened yet, it is looked at again at store_retry_at.
  news stalled;
  std::vector<reply_to> stop_waiters;

  bool has(kernel_id const& wanted) const { return kernel && kernel->row.kernel == wanted; }
  /// It is being ended as its namespace is saved, or is about to be.
  bool is_ending_saved() const {
    return kernel && (kernel->ending == end_reason::stop || kernel->ending == end_reason::hibernated);
  }
  bool is_attached() const { return kernel && kernel->attached && !kernel->ending; }
  /// While there is a saved namespace no cell is sent to a kernel.
  bool takes_cells() const { return is_attached() && !saved.row && !kernel->is_foreign; }
};

/// A kernel that was given up, until it is proven gone.
struct orphan {
  storage::link_record row;
  steady_time due;                // it is ended then
  caf::actor actor = {};          // that ends it
  steady_time waited_until = {};  // by whoever waits for its end, since it was begun
  std::vector<reply_to> stop_waiters = {};
};

/// What the end of a kernel changes, or its being given up: recorded as one transaction, then the session has it so.
struct kernel_loss {
  storage::changes unit;
  storage::session_record row;                   // of the session
  std::uint32_t number = 0;                      // of its slot from now on
  std::vector<storage::cell_record> cells;       // that it had: final now, or queued again
  std::vector<std::string> lost;                 // of those, by id
  std::vector<storage::job_record> jobs;         // that ended with it
  std::vector<notice_id> withdrawn;              // they ride on the first of the results, or are untrue now
  std::optional<storage::notice_record> notice;  // that tells of it
  std::optional<storage::link_record> orphan;    // what is kept of one that was given up; none: its link is erased
};

/// The row of a slot, which is there.
storage::kernel_slot& slot_in(storage::session_record& row, std::uint32_t number);
storage::kernel_slot const& slot_in(storage::session_record const& row, std::uint32_t number);

/// Lines NAME=VALUE, by name.
std::map<std::string, std::string> as_map(std::vector<std::string> const& variables);

/// Puts the kernel that a notice is about into its details: it is withdrawn when that ends.
void name_kernel(storage::notice_record& notice, kernel_id const& kernel);
bool names_kernel(storage::notice_record const& notice, kernel_id const& kernel);

/// The reason of a link as clients are told it.
std::string shown_reason(std::string const& reason);

}  // namespace holdfast::core

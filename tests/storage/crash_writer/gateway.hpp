// A gateway boiled down to its commits and what it lets out between them, in the orders of FORMAT.md, or with one mistake in them.
#pragma once

#include <deque>
#include <map>
#include <random>
#include <string>

#include "tests/storage/crash_writer/ledger.hpp"
#include "tests/storage/crash_writer/store_thread.hpp"

namespace holdfast::storage::crash {

/// What is done in the wrong order, to prove that the test sees it.
enum class mistake {
  none,
  swap,        // sends before the acceptance is committed
  ack_first,   // acks a start and a result before they are committed
  drop_first,  // erases a result from `boot` before it is in `disk`
  early,       // tells a kernel elsewhere what is recorded before `disk` has it
};

class gateway {
 public:
  gateway(stores& into, ledger& outside, std::uint32_t seed, mistake wrong)
      : stores_(into), ledger_(outside), random_(seed), wrong_(wrong), disk_(into) {}

  /// Takes up what an earlier life left, then does `steps` random things.
  void run(int steps);

 private:
  /// A session with the cells that are not final yet, oldest first; the first may have been sent.
  struct live_session {
    session_record row;
    link_record link;
    std::deque<cell_record> open;
    cell_number last_cell = 0;
    cell_number expired = 0;                                               // all up to this one
    std::deque<job_record> jobs;                                           // that run
    enum class sleep { awake, saving, saved, waking } now = sleep::awake;  // no cell is sent unless awake

    bool is_elsewhere() const { return link.environment != "local"; }
  };

  void take_up(std::string const& name);
  live_session create(std::string const& name);
  void step(live_session& in);
  void accept(live_session& in);
  void send(live_session& in);
  void start(live_session& in);
  void finish(live_session& in);
  void expire(live_session& in);
  void notify(live_session& in);
  void start_job(live_session& in);
  void end_job(live_session& in);
  void save(live_session& in);
  void wake(live_session& in);
  void close(live_session& in);
  void after_disk();
  void commit(changes const& all);
  /// The same of a session, after which `out` may happen.
  void commit(live_session const& in, changes const& all, entry const& out);
  void copy();
  std::uint32_t dice(std::uint32_t sides) { return random_() % sides; }

  stores& stores_;
  ledger& ledger_;
  std::mt19937 random_;
  mistake wrong_;
  std::map<std::string, live_session> live_;
  std::uint64_t next_notice_ = 0;
  unmoved_rows to_copy_;               // of sessions whose kernels are elsewhere
  std::vector<entry> held_, leaving_;  // what waits for the next copy, for the one on its way
  bool is_copying_ = false;
  store_thread disk_;
};

}  // namespace holdfast::storage::crash

#include "tests/storage/crash_writer/gateway.hpp"

#include <array>

namespace holdfast::storage::crash {
namespace {

constexpr std::array names{"a", "b", "c"};
constexpr unix_ms now = 1'700'000'000'000;

template <class T>
T must(result<T> outcome) {
  if (!outcome) {
    std::cerr << outcome.error().text << '\n';
    std::_Exit(3);
  }
  return *std::move(outcome);
}

}  // namespace

void gateway::commit(changes const& all) {
  if (auto committed = stores_.commit_boot(all); !committed) {
    std::cerr << committed.error().text << '\n';
    std::_Exit(3);
  }
}

/// A kernel elsewhere may hear of it once `disk` has it, too.
void gateway::commit(live_session const& in, changes const& all, entry const& out) {
  commit(all);
  if (!in.is_elsewhere() || wrong_ == mistake::early) ledger_.write(out);
  if (!in.is_elsewhere()) return;
  for (auto const& what : all) {
    if (auto const* cell = std::get_if<put_cell>(&what)) to_copy_.cells.insert({cell->row.session, cell->row.number});
    if (auto const* outbox = std::get_if<put_outbox>(&what)) to_copy_.outboxes[{outbox->row.session, outbox->row.number}] = true;
    if (auto const* outbox = std::get_if<erase_outbox>(&what)) to_copy_.outboxes[{outbox->session, outbox->number}] |= false;
    if (auto const* link = std::get_if<put_link>(&what)) to_copy_.links.insert(link->row.kernel);
    if (auto const* link = std::get_if<erase_link>(&what)) to_copy_.links.insert(link->kernel);
    if (auto const* job = std::get_if<put_job>(&what)) to_copy_.jobs[{job->row.session, job->row.job}] = true;
    if (auto const* notice = std::get_if<put_notice>(&what)) to_copy_.notices.insert({notice->row.session, notice->row.notice});
    if (auto const* notice = std::get_if<erase_notice>(&what)) to_copy_.told.insert({notice->session, notice->notice});
  }
  if (wrong_ != mistake::early) held_.push_back(out);
  copy();
}

/// All of it as it is in `boot` now, in one unit, unless one is on its way.
void gateway::copy() {
  if (is_copying_ || to_copy_.empty()) return;
  moved_unit next;
  for (auto const& [session, number] : to_copy_.cells) {
    auto const row = must(stores_.cell(session, number));
    if (!row) continue;
    next.unit.push_back(put_cell{*row});
    if (is_final(row->status)) next.then_in_boot.push_back(erase_cell{session, number});
  }
  for (auto const& [session, notice] : to_copy_.told) next.unit.push_back(erase_notice{session, notice});
  for (auto& each : must(stores_.copies_of(to_copy_))) next.unit.push_back(std::move(each));
  to_copy_ = {};
  leaving_ = std::exchange(held_, {});
  next.copies = is_copying_ = true;
  disk_.add(std::move(next));
}

void gateway::run(int steps) {
  to_copy_ = must(stores_.out_of_step());
  copy();
  for (auto const* name : names) take_up(name);
  for (int i = 0; i < steps; ++i) {
    after_disk();
    step(live_[names[dice(names.size())]]);
  }
}

void gateway::take_up(std::string const& name) {
  auto const found = must(stores_.find_session({"default", "", name}));
  if (!found) {
    live_[name] = create(name);
    return;
  }
  live_session taken;
  taken.row = *found;
  for (auto& link : must(stores_.links()))
    if (link.session == found->number) taken.link = link;
  if (taken.link.kernel.empty()) taken.link = create(name).link;
  for (auto& cell : must(stores_.open_cells(found->number))) taken.open.push_back(cell);
  for (auto& job : must(stores_.jobs_of(found->number)))
    if (!has_ended(job.state)) taken.jobs.push_back(job);
  if (!must(stores_.saved(found->number)).empty()) taken.now = live_session::sleep::saved;
  taken.last_cell = must(stores_.last_cell_number(found->number));
  live_[name] = std::move(taken);
}

gateway::live_session gateway::create(std::string const& name) {
  live_session made;
  made.row.number = must(stores_.last_session_number()) + 1;
  made.row.key = {"default", "", name};
  made.link.kernel = kernel_id("k-" + std::to_string(made.row.number));
  made.link.session = made.row.number;
  made.link.state = link_state::live;
  if (name == names.back()) made.link.environment = "far";
  changes const unit{put_session{made.row}, put_link{made.link}};
  if (made.is_elsewhere())
    commit(made, unit, {event::elsewhere, made.row.number, 0, 0});
  else
    commit(unit);
  disk_.add({{put_session{made.row}}, {}, 0});
  return made;
}

void gateway::step(live_session& in) {
  auto const choice = dice(100);
  if (choice < 2) return close(in);
  if (choice < 6) return expire(in);
  if (choice < 12) return notify(in);
  if (choice < 15) return start_job(in);
  if (choice < 18 && !in.jobs.empty()) return end_job(in);
  auto const is_out = !in.open.empty() && in.open.front().generation != 0;
  if (choice < 22 && !is_out && !in.is_elsewhere() && in.now == live_session::sleep::awake) return save(in);
  if (choice < 30 && in.now == live_session::sleep::saved) return wake(in);
  if (in.open.empty() || (choice < 35 && in.open.size() < 4)) return accept(in);
  if (in.now != live_session::sleep::awake) return;
  auto const& first = in.open.front();
  if (first.started_at != 0) return finish(in);
  if (first.generation == 0 || dice(8) == 0) return send(in);  // a resend is harmless: the kernel knows the id
  start(in);
}

void gateway::accept(live_session& in) {
  cell_record cell;
  cell.session = in.row.number;
  cell.number = ++in.last_cell;
  cell.cell = cell_id("c-" + std::to_string(cell.number));
  cell.code.fill(static_cast<std::uint8_t>(cell.number));
  cell.queued_at = now;
  in.open.push_back(cell);
  if (wrong_ == mistake::swap) ledger_.write({event::sent, cell.session, cell.number, 0});
  commit(in, {put_cell{cell}, put_outbox{{cell.session, cell.number, "print(" + std::to_string(cell.number) + ")", false, 0, {}}}},
         {event::told, cell.session, cell.number, 0});
  if (!in.is_elsewhere()) disk_.add({{put_cell{cell}}, {}, 0});
}

void gateway::send(live_session& in) {
  auto& cell = in.open.front();
  cell.kernel = in.link.kernel;
  cell.generation = ++in.link.generation;
  commit(in, {put_cell{cell}, put_link{in.link}}, {event::sent, cell.session, cell.number, 0});
}

void gateway::start(live_session& in) {
  auto& cell = in.open.front();
  cell.status = cell_status::running;
  cell.started_at = now + 1;
  ++in.link.last_seq;
  entry const ack{event::start_acked, cell.session, cell.number, in.link.last_seq};
  if (wrong_ == mistake::ack_first) ledger_.write(ack);
  commit(in, {put_cell{cell}, erase_outbox{cell.session, cell.number}, put_link{in.link}}, ack);
}

void gateway::finish(live_session& in) {
  auto cell = in.open.front();
  in.open.pop_front();
  cell.status = static_cast<cell_status>(2 + dice(6));
  cell.finished_at = now + 2;
  ++in.link.last_seq;
  cell.result = std::to_string(in.link.last_seq);
  changes result{put_cell{cell}, put_link{in.link}};
  changes unit{put_cell{cell}};
  for (auto const& notice : must(stores_.notices(cell.session))) {
    result.push_back(erase_notice{cell.session, notice.notice});
    unit.push_back(erase_notice{cell.session, notice.notice});
  }
  entry const ack{event::result_acked, cell.session, cell.number, in.link.last_seq};
  if (wrong_ == mistake::ack_first) ledger_.write(ack);
  commit(in, result, ack);
  if (in.is_elsewhere()) return;
  changes const drop{erase_cell{cell.session, cell.number}};
  if (wrong_ == mistake::drop_first) commit(drop);
  disk_.add({unit, drop, 0});
}

void gateway::expire(live_session& in) {
  // Only what is in `disk` and final goes; the store itself passes over the rest.
  if (in.last_cell < in.expired + 8) return;
  ++in.expired;
  disk_.add({{expire_cell{in.row.number, in.expired}}, {}, 0});
}

void gateway::notify(live_session& in) {
  notice_record notice;
  notice.notice = notice_id("n-" + std::to_string(random_()) + "-" + std::to_string(++next_notice_));
  notice.session = in.row.number;
  notice.kind = "restarted";
  if (in.is_elsewhere())
    commit(in, {put_notice{notice}}, {event::told, 0, 0, 0});
  else if (dice(2) == 0)
    commit({put_notice{notice}});
  else
    disk_.add({{put_notice{notice}}, {}, 0});
}

void gateway::start_job(live_session& in) {
  job_record job;
  job.session = in.row.number;
  job.kernel = in.link.kernel;
  ++in.link.last_seq;
  job.job = job_id(job_name(job.session, in.link.last_seq));
  entry const ack{event::job_acked, job.session, 0, in.link.last_seq};
  if (wrong_ == mistake::ack_first) ledger_.write(ack);
  commit(in, {put_job{job}, put_link{in.link}}, ack);
  in.jobs.push_back(job);
}

void gateway::end_job(live_session& in) {
  auto job = in.jobs.front();
  in.jobs.pop_front();
  job.state = static_cast<job_state>(1 + dice(3));
  job.finished_at = now + 2;
  ++in.link.last_seq;
  notice_record notice;
  notice.notice = job.notice = notice_id("n-" + job.job.text);
  notice.session = job.session;
  notice.kind = "job_finished";
  commit(in, {put_job{job}, put_notice{notice}, put_link{in.link}}, {event::told, 0, 0, 0});
}

void gateway::save(live_session& in) {
  in.now = live_session::sleep::saving;
  saved_record row;
  row.session = in.row.number;
  row.kernel = in.link.kernel;
  row.file = "state/" + std::to_string(in.row.number) + ".0";
  disk_.add({{put_saved{row}}, {}, 0, in.row.number});
}

void gateway::wake(live_session& in) {
  in.now = live_session::sleep::waking;
  ledger_.write({event::waking, in.row.number, 0, 0});
  disk_.add({{erase_saved{in.row.number, 0}}, {}, 0, 0, in.row.number});
}

void gateway::close(live_session& in) {
  auto const number = in.row.number;
  ledger_.write({event::closing, number, 0, 0});
  commit({erase_session{number}, erase_link{in.link.kernel}});
  if (in.is_elsewhere()) to_copy_.links.insert(in.link.kernel);
  disk_.add({{erase_session{number}}, {}, number});
  in = create(in.row.key.session);
}

void gateway::after_disk() {
  for (auto const& done : disk_.take_done()) {
    if (done.copies) {
      for (auto const& out : std::exchange(leaving_, {})) ledger_.write(out);
      is_copying_ = false;
    }
    if (!done.then_in_boot.empty()) commit(done.then_in_boot);
    if (done.closed != 0) ledger_.write({event::closed, done.closed, 0, 0});
    for (auto& [name, session] : live_) {
      if (session.row.number == done.saved) {
        session.now = live_session::sleep::saved;
        ledger_.write({event::saved, done.saved, 0, 0});
      }
      if (session.row.number == done.woken) session.now = live_session::sleep::awake;
    }
  }
  copy();
}

}  // namespace holdfast::storage::crash

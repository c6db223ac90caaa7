// What became of what a cell started? Jobs as their kernel tells of them, as its death leaves them, and what is asked of them.
#include <algorithm>

#include "actors/base/clock.hpp"
#include "actors/core/event_details.hpp"
#include "actors/core/job_outcome.hpp"
#include "actors/core/job_view.hpp"
#include "actors/core/session_batch.hpp"

namespace holdfast::core {

using std::chrono::steady_clock;

namespace {

template <class Rows>
auto find_job(Rows& rows, job_id const& job) {
  return std::find_if(rows.begin(), rows.end(), [&](auto const& each) { return each.job == job; });
}

std::string cut(std::string text) {
  if (text.size() <= defaults::job_command_kept) return text;
  auto end = defaults::job_command_kept;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // within a character
  text.resize(end);
  return text;
}

}  // namespace

bool session_state::take_job_frame(batch& into, link::from_kernel const& what) const {
  if (auto* start = std::get_if<link::job_started>(&what))
    take_job_started(into, *start);
  else if (auto* end = std::get_if<link::job_finished>(&what))
    take_job_finished(into, *end);
  else if (auto* read = std::get_if<link::jobs_read>(&what))
    take_jobs_read(into, *read);
  else
    return false;
  return true;
}

/// A kernel runs its user's code: an id that is known already, in whatever session, is no new job.
void session_state::take_job_started(batch& into, link::job_started const& frame) const {
  auto const known = shared->stores->job(frame.job);
  if (find_job(into.jobs, frame.job) != into.jobs.end() || !known || *known) return;
  auto const ended =
      std::count_if(into.jobs.begin(), into.jobs.end(), [](auto const& each) { return storage::has_ended(each.state); });
  if (jobs.size() + into.jobs.size() - static_cast<std::size_t>(ended) >= defaults::live_jobs_most) {
    log::warn("job-not-recorded", "session {} has {} running jobs; {} is not recorded", own_row.number, jobs.size(),
              frame.job.text);
    return;
  }
  storage::job_record row;
  row.session = own_row.number;
  row.job = frame.job;
  row.kernel = into.at.kernel->row.kernel;
  row.cell = frame.cell;
  row.command = cut(frame.command);
  row.pid = frame.pid;
  row.start_time = frame.start_time;
  row.group = frame.group;
  row.keep = frame.keep;
  row.started_at = frame.at;
  into.jobs.push_back(std::move(row));
}

void session_state::take_job_finished(batch& into, link::job_finished const& frame) const {
  auto* row = running_job(into, frame.job);
  if (row == nullptr) return;
  *row = finished(std::move(*row), frame);
  if (frame.read) return;
  auto notice = make_notice("job_finished", end_in_words(*row), {}, {*row});
  row->notice = notice.notice;
  into.add_news(*this, std::move(notice));
}

void session_state::take_jobs_read(batch& into, link::jobs_read const& frame) const {
  for (auto const& job : frame.jobs) {
    auto const here = find_job(into.jobs, job);
    auto row = here != into.jobs.end() ? std::optional(*here) : std::nullopt;
    if (!row)
      if (auto stored = shared->stores->job(job)) row = std::move(*stored);
    if (!row || row->session != own_row.number || row->notice.empty()) continue;
    std::erase_if(into.notices_of(*this), [&](auto const& each) { return each.notice == row->notice; });
  }
}

storage::job_record* session_state::running_job(batch& into, job_id const& job) const {
  auto here = find_job(into.jobs, job);
  if (here == into.jobs.end()) {
    auto const row = find_job(jobs, job);
    if (row == jobs.end() || row->kernel != into.at.kernel->row.kernel) return nullptr;
    here = into.jobs.insert(into.jobs.end(), *row);
  }
  return storage::has_ended(here->state) ? nullptr : &*here;
}

void session_state::keep_jobs(std::vector<storage::job_record> const& changed) {
  for (auto const& row : changed) {
    auto const known = find_job(jobs, row.job);
    if (known == jobs.end()) publish("job_started", job_started_details(row));
    if (known != jobs.end()) jobs.erase(known);
    if (!storage::has_ended(row.state)) {
      jobs.push_back(row);
      continue;
    }
    publish("job_finished", job_finished_details(row));
    for (auto at = job_waiters.begin(); at != job_waiters.end();) {
      if (at->job != row.job) {
        ++at;
        continue;
      }
      answer_text(at->to, job_json(own_row.key, row, now_ms()));
      at = job_waiters.erase(at);
    }
  }
}

std::vector<storage::job_record> session_state::jobs_of(kernel_id const& kernel) const {
  std::vector<storage::job_record> found;
  for (auto const& each : jobs)
    if (each.kernel == kernel) found.push_back(each);
  return found;
}

std::vector<storage::job_record> session_state::jobs_of(slot const& at) const {
  return at.kernel ? jobs_of(at.kernel->row.kernel) : std::vector<storage::job_record>{};
}

/// Those that ended with the kernel, as they are to be recorded.
std::vector<storage::job_record> session_state::jobs_after_death(kernel_id const& kernel, remains const& left) const {
  auto ended = left.ended;
  if (left.exit)
    for (auto const& each : left.exit->ended) ended.push_back(each.pid);
  std::vector<storage::job_record> fallen;
  for (auto job : jobs_of(kernel)) {
    job.state = state_after_death(job, ended);
    if (!storage::has_ended(job.state)) continue;
    job.finished_at = std::max(job.started_at, left.exit ? left.exit->at : now_ms());
    fallen.push_back(std::move(job));
  }
  return fallen;
}

/// Nobody tells of the end of a job that has outlived its kernel: it is seen when somebody looks.
void session_state::settle_kept_jobs() {
  std::vector<storage::job_record> ended;
  storage::changes unit;
  for (auto job : jobs) {
    if (holder(job.kernel) || is_out_of_reach(job) || is_alive(job)) continue;
    job.state = storage::job_state::lost;
    job.finished_at = now_ms();
    unit.push_back(storage::put_job{job});
    ended.push_back(std::move(job));
  }
  if (!ended.empty() && shared->commit(unit)) keep_jobs(ended);
}

std::size_t session_state::live_jobs() const {
  return static_cast<std::size_t>(std::count_if(jobs.begin(), jobs.end(), [this](auto const& each) {
    return holder(each.kernel) || is_out_of_reach(each) || is_alive(each);
  }));
}

/// An orphan elsewhere has it: no process of this machine tells of it.
bool session_state::is_out_of_reach(storage::job_record const& job) const {
  return std::any_of(orphans.begin(), orphans.end(),
                     [&](auto const& each) { return each.row.kernel == job.kernel && each.row.environment != "local"; });
}

// ---- what is asked ----

void session_state::on_job_call(job_call const& call) {
  auto const& from = call.from;
  if (unloaded)
    return std::visit([&](auto const& what) { self->send(shared->supervisor, supervisor_call{from, what}); }, call.what);
  if (shared->shutting_down)
    return answer_error(from, {error_code::shutting_down, "the daemon is shutting down; send it again later", {}});
  settle_kept_jobs();
  auto const wanted = std::visit([](auto const& what) { return what.job; }, call.what);
  auto stored = shared->stores->job(wanted);
  if (!stored) return answer_error(from, from_storage(stored.error()));
  if (gone || closing || !*stored || (*stored)->session != own_row.number)
    return answer_error(from, {error_code::not_found, "no job " + wanted.text + "; job.list shows what there is", {}});
  if (auto* what = std::get_if<read_job_output>(&call.what)) return on_read_job_output(from, **stored, *what);
  on_stop_job(from, **stored);
}

void session_state::on_stop_job(reply_to const& from, storage::job_record const& job) {
  if (storage::has_ended(job.state)) return answer_text(from, job_json(own_row.key, job, now_ms()));
  auto* const at = holder(job.kernel);
  if (at == nullptr) {  // it has outlived its kernel
    await_job_end(job.job, from);
    return self->send(shared->files, end_job_group{address(), job.job});
  }
  ask_kernel(*at, {{}, "job_stop", {{"job", job.job.text}}, {}}, [this, from, id = job.job](result<link::answered> answer) {
    if (!answer) return answer_error(from, std::move(answer.error()));
    // The kernel may answer before it tells of the end.
    if (find_job(jobs, id) != jobs.end()) return await_job_end(id, from);
    answer_job(id, from);
  });
}

void session_state::on_read_job_output(reply_to const& from, storage::job_record const& job, read_job_output const& what) {
  auto* const at = holder(job.kernel);
  if (at == nullptr) return answer_text(from, page_json(lost_page(job, what.offset), what.offset));
  link::request request{{}, "job_output", {{"job", job.job.text}}, {{"offset", what.offset}, {"limit", what.limit}}};
  ask_kernel(*at, std::move(request), [this, from, job, offset = what.offset](result<link::answered> answer) {
    if (!answer && answer.error().code == error_code::not_found)  // the kernel keeps the newest only
      return answer_text(from, page_json(lost_page(job, offset), offset));
    if (!answer) return answer_error(from, std::move(answer.error()));
    auto page = link::job_page_of(answer->body);
    if (!page) return answer_error(from, {error_code::unreachable, "the kernel's answer could not be read: " + page.error(), {}});
    answer_text(from, page_json(*page, offset));
  });
}

/// Where nothing of it was found nobody has stopped it: it has ended by itself, or runs on without its mark, or on another machine.
void session_state::on_job_group_ended(job_group_ended const& told) {
  auto const found = find_job(jobs, told.job);
  if (found == jobs.end()) return;
  if (!told.is_gone || (!told.was_found && (is_out_of_reach(*found) || is_alive(*found)))) {
    log::warn("job-not-ended", "job {} was not ended: {}", told.job.text,
              told.is_gone ? "none of its processes is known" : "it does not end");
    for (auto& each : job_waiters)
      if (each.job == told.job) each.until = {};
    return answer_job_waiters(steady_clock::now());
  }
  auto row = *found;
  row.state = told.was_found ? storage::job_state::stopped : storage::job_state::lost;
  row.finished_at = now_ms();
  if (shared->commit({storage::put_job{row}})) keep_jobs({row});
}

void session_state::await_job_end(job_id const& job, reply_to const& to) {
  job_waiters.push_back({job, to, steady_clock::now() + defaults::request_deadline});
  wake_at(job_waiters.back().until);
}

/// As its row says it stands.
void session_state::answer_job(job_id const& job, reply_to const& to) {
  auto stored = shared->stores->job(job);
  if (!stored) return answer_error(to, from_storage(stored.error()));
  if (!*stored) return answer_error(to, {error_code::not_found, "job " + job.text + " is no longer recorded", {}});
  answer_text(to, job_json(own_row.key, **stored, now_ms()));
}

/// Those who have waited long enough hear how their job stands.
void session_state::answer_job_waiters(steady_time until) {
  for (auto const& each : std::exchange(job_waiters, {})) {
    if (each.until <= until) {
      answer_job(each.job, each.to);
      continue;
    }
    wake_at(each.until);
    job_waiters.push_back(each);
  }
}

}  // namespace holdfast::core

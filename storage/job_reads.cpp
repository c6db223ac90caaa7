// Finding and listing jobs: in `boot`, as `disk` has copies only.
#include "storage/reads.hpp"

namespace holdfast::storage::reads {

std::optional<job_record> job(snapshot& in, job_id const& job) {
  auto const session = in.boot.find<job_id_codec>(job.text);
  if (!session || in.is_doomed(*session)) return std::nullopt;
  return in.boot.find<job_codec>(key_of(*session, job.text));
}

std::vector<job_record> jobs(snapshot& in, job_id const& before, std::size_t limit) {
  std::vector<job_record> found;
  cursor walk(in.boot, table::job_ids);
  for (bool on = before.empty() ? walk.last() : walk.below(before.text); on && found.size() < limit; on = walk.previous()) {
    auto const session = walk.row<job_id_codec>();
    if (!session) break;
    if (in.is_doomed(*session)) continue;
    if (auto row = in.boot.find<job_codec>(key_of(*session, walk.key()))) found.push_back(*std::move(row));
  }
  return found;
}

std::vector<job_record> jobs_of(snapshot& in, session_number session) {
  std::vector<job_record> found;
  if (in.is_doomed(session)) return found;
  cursor walk(in.boot, table::jobs);
  for (bool on = walk.at_least(key_of(session)); on && session_in(walk.key()) == session; on = walk.next()) {
    auto row = walk.row<job_codec>();
    if (!row) break;
    found.push_back(*std::move(row));
  }
  return found;
}

}  // namespace holdfast::storage::reads

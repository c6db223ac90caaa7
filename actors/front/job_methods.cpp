// job.*: processes that cells started with run(...).
#include "actors/front/method_groups.hpp"
#include "actors/front/objects.hpp"

namespace holdfast::front {
namespace {

param job_param() { return {.name = "job", .type = param_type::id, .required = true, .sentence = "the id of the job"}; }

std::optional<storage::job_state> read_state(std::optional<std::string> const& word) {
  for (int state = 0; word && state <= static_cast<int>(storage::job_state::lost); ++state)
    if (*word == storage::to_string(static_cast<storage::job_state>(state))) return static_cast<storage::job_state>(state);
  return std::nullopt;
}

method list_method() {
  return {
      .name = "job.list",
      .sentence = "Lists jobs, newest first, of every owner unless one is named. Of a session the last 256 that ended are kept.",
      .params = {filter_param("owner", "only this owner's"),
                 filter_param("child", "only this child's"),
                 filter_param("session", "only this session's"),
                 {.name = "state", .type = param_type::word, .words = job_states(), .sentence = "only jobs in this state"},
                 limit_param(),
                 after_param()},
      .result = {"job row", true, "the jobs, newest first"},
      .errors = {},
      .examples = {{R"({"session": "default"})",
                    R"({"items": [{"job": "j-01KGA5DT00000000000000000J", "owner": "default", "child": null, "session": "default",
            "kernel": "k-01KGA5DT00000000000000000K", "command": "make -j2", "pid": 4712, "state": "running", "exit_code": null,
            "timed_out": false, "started_at": "2026-01-31T12:00:01.000Z", "duration_ms": 2500, "output_bytes": 0}], "next": null})"}},
      .build = [](arguments const& given) {
        return to_supervisor(list_jobs{given.optional_text("owner"), given.optional_text("child"), given.optional_text("session"),
                                       read_state(given.optional_text("state")), static_cast<std::size_t>(given.integer("limit")),
                                       given.text("after")});
      }};
}

method stop_method() {
  return {
      .name = "job.stop",
      .sentence = "Ends a job with all processes of its group: TERM, after 250 ms KILL. One that has ended is answered as it is.",
      .params = {job_param()},
      .result = {"job row", false, "its row, once nothing of it is left"},
      .errors = {error_code::not_found, error_code::unreachable},
      .examples = {{R"({"job": "j-01KGA5DT00000000000000000J"})",
                    R"({"job": "j-01KGA5DT00000000000000000J", "owner": "default", "child": null, "session": "default",
 "command": "make -j2", "pid": 4712, "state": "stopped", "exit_code": -15, "timed_out": false})"}},
      .build = [](arguments const& given) { return to_supervisor(stop_job{job_id(given.text("job"))}); }};
}

method output_method() {
  return {
      .name = "job.output",
      .sentence =
          "Reads a job's output in pages, in written order; an offset is a byte of what it wrote. The output of a job whose "
          "kernel is gone is gone with it: named as dropped.",
      .params = {job_param(),
                 {.name = "offset",
                  .type = param_type::integer,
                  .fallback = 0,
                  .least = 0,
                  .most = max_offset,
                  .sentence = "where to begin"},
                 {.name = "limit",
                  .type = param_type::integer,
                  .fallback = 65'536,
                  .least = 1,
                  .most = max_output_page,
                  .sentence = "how many bytes at most"}},
      .result = {"output page", false, "the page"},
      .errors = {error_code::not_found, error_code::unreachable},
      .examples = {{R"({"job": "j-01KGA5DT00000000000000000J"})",
                    R"({"chunks": [{"stream": "stdout", "offset": 0, "text": "cc -c a.c\n"}], "next_offset": 10, "total_bytes": 10,
 "dropped": [], "final": true})"}},
      .build = [](arguments const& given) {
        return to_supervisor(read_job_output{job_id(given.text("job")), static_cast<std::uint64_t>(given.integer("offset")),
                                             static_cast<std::size_t>(given.integer("limit"))});
      }};
}

}  // namespace

std::vector<method> job_methods() { return {list_method(), stop_method(), output_method()}; }

}  // namespace holdfast::front

// kernel.*: the interpreter processes.
#include "actors/front/method_groups.hpp"
#include "actors/front/objects.hpp"

namespace holdfast::front {
namespace {

method list_method() {
  return {
      .name = "kernel.list",
      .sentence = "Lists kernels, newest first, of every owner unless one is named.",
      .params = {filter_param("owner", "only this owner's"),
                 filter_param("child", "only this child's"),
                 filter_param("session", "only this session's"),
                 {.name = "state", .type = param_type::word, .words = kernel_states(), .sentence = "only kernels in this state"},
                 limit_param(),
                 after_param()},
      .result = {"kernel row", true, "the kernels, newest first"},
      .errors = {},
      .examples =
          {{R"({"session": "default"})",
            R"({"items": [{"kernel": "k-01KGA5DT00000000000000000K", "owner": "default", "child": null, "session": "default",
            "environment": "local", "python": "/usr/bin/python3", "tools": [], "pid": 4711, "state": "idle",
            "stale": false, "memory_bytes": 17825792, "started_at": "2026-01-31T12:00:00.000Z",
            "idle_ms": 30, "cell": null, "queued": 0, "jobs": 0, "victim_rank": 1}], "next": null})"}},
      .build = [](arguments const& given) {
        return to_supervisor(list_kernels{given.optional_text("owner"), given.optional_text("child"),
                                          given.optional_text("session"), given.optional_text("state"),
                                          static_cast<std::size_t>(given.integer("limit")), given.text("after")});
      }};
}

method stop_method() {
  return {
      .name = "kernel.stop",
      .sentence =
          "Ends an idle kernel, its namespace saved: its session's next cell has it again. One with a running or queued cell or a "
          "live job is refused, and so is one that cannot save; nothing is ended then.",
      .params = {{.name = "kernel", .type = param_type::id, .required = true, .sentence = "the id of the kernel"},
                 {.name = "save", .type = param_type::boolean, .fallback = true, .sentence = "save its namespace first"}},
      .result = {"kernel row", false, "its last row"},
      .errors = {error_code::not_found, error_code::busy, error_code::unreachable},
      .examples =
          {{R"({"kernel": "k-01KGA5DT00000000000000000K", "save": false})",
            R"({"kernel": "k-01KGA5DT00000000000000000K", "owner": "default", "child": null, "session": "default", "pid": 4711})"}},
      .build = [](arguments const& given) {
        return to_supervisor(stop_kernel{kernel_id(given.text("kernel")), given.flag("save")});
      }};
}

}  // namespace

std::vector<method> kernel_methods() { return {list_method(), stop_method()}; }

}  // namespace holdfast::front

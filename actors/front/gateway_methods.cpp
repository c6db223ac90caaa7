// event.subscribe, status, metrics, rpc.discover, shutdown: the gateway as a whole.
#include "actors/front/method_groups.hpp"
#include "actors/front/objects.hpp"

namespace holdfast::front {
namespace {

method subscribe_method() {
  return {.name = "event.subscribe",
          .sentence = "From now on this connection is notified of events: `event`. A second call replaces the first.",
          .params = {{.name = "types",
                      .type = param_type::word_list,
                      .most = 32,
                      .words = event_kinds(),
                      .sentence = "only these kinds; null or empty: all"},
                     filter_param("owner", "only this owner's"),
                     {.name = "since",
                      .type = param_type::integer,
                      .least = 0,
                      .most = max_offset,
                      .sentence = "begin behind this seq, as far as events are kept"}},
          .result = {"subscription", false, "where the events stand"},
          .errors = {},
          .examples = {{R"({"types": ["kernel_started"]})", R"({"seq": 7, "missed": 0})"}},
          .build = [](arguments const& given) {
            subscribe_events subscribe;
            subscribe.types = given.list("types");
            subscribe.owner = given.optional_text("owner");
            if (auto since = given.optional_integer("since")) subscribe.since = static_cast<std::uint64_t>(*since);
            return to_supervisor(std::move(subscribe));
          }};
}

method status_method() {
  return {.name = "status",
          .sentence = "Shows the daemon itself.",
          .params = {},
          .result = {"status", false, "how it stands"},
          .errors = {},
          .examples = {{"{}", R"({"version": "0.1.0", "protocol": "1.0", "pid": 4700, "home": "/home/ada/.local/state/holdfast",
 "started_at": "2026-01-31T11:59:00.000Z", "kernels": {}, "attaching": 0, "limits": {}})"}},
          .build = [](arguments const&) { return to_supervisor(get_status{}); }};
}

method metrics_method() {
  return {
      .name = "metrics",
      .sentence = "Counters, levels and latencies of the daemon in Prometheus' text format; no owner or session is named in them.",
      .params = {},
      .result = {"string", false, "the text"},
      .errors = {},
      .examples = {{"{}", R"("# HELP holdfast_cells_total Final cells by status.\n# TYPE holdfast_cells_total counter\n...")"}},
      .build = [](arguments const&) { return to_supervisor(get_metrics{}); }};
}

method discover_method() {
  return {
      .name = "rpc.discover",
      .sentence = "Answers the table that requests are checked against.",
      .params = {},
      .result = {"method table", false, "the whole of it"},
      .errors = {},
      .examples =
          {{"{}",
            R"({"protocol": "1.0", "methods": [], "common_errors": [], "objects": [], "notifications": [], "events": [], "errors": []})"}},
      .build = [](arguments const&) -> call { return discover{}; }};
}

method shutdown_method() {
  return {
      .name = "shutdown",
      .sentence = "Ends the gateway. Running cells go on in their kernels; who waits for one is answered with how it stands.",
      .params = {{.name = "kernels",
                  .type = param_type::boolean,
                  .fallback = false,
                  .sentence =
                      "end all kernels as well: running cells are interrupted, namespaces saved for the next gateway, jobs ended"}},
      .result = {"kernels left", false, "how many live on"},
      .errors = {},
      .examples = {{R"({"kernels": true})", R"({"kernels_left": 0})"}},
      .build = [](arguments const& given) { return to_supervisor(shut_down{given.flag("kernels")}); }};
}

}  // namespace

std::vector<method> gateway_methods() {
  return {subscribe_method(), status_method(), metrics_method(), discover_method(), shutdown_method()};
}

}  // namespace holdfast::front

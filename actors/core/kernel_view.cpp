#include "actors/core/kernel_view.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "actors/base/clock.hpp"
#include "actors/core/key_json.hpp"
#include "actors/link/json_writer.hpp"
#include "bin/kernel/program.hpp"

namespace holdfast::core {

bool is_stale(storage::link_record const& link) { return !link.program.empty() && link.program != program_digest(); }

std::uint64_t resident_bytes(std::int32_t pid) {
  if (pid <= 0) return 0;
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::uint64_t total = 0, resident = 0;
  if (!(file >> total >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

char const* kernel_view::state() const {
  if (is_orphan) return "orphan";
  if (!live || (!attached && !was_tried)) return "starting";
  if (!attached) return "unreachable";
  return cell.empty() && queued == 0 ? "idle" : "busy";
}

std::string kernel_view::to_json(std::size_t victim_rank) const {
  link::json_writer row;
  write_key(row.text("kernel", kernel.text), key)
      .text("environment", environment)
      .text("python", python)
      .json("tools", link::json_list(tools, [](std::string const& each) {
              std::string out;
              link::append_json_string(out, each);
              return out;
            }));
  row.integer("pid", pid).text("state", state()).flag("stale", is_stale);
  row.number("memory_bytes", environment == "local" ? resident_bytes(pid) : 0);  // elsewhere the pid is another process's here
  row.text("started_at", rfc3339(started_at));
  row.integer("idle_ms", cell.empty() && queued == 0 ? std::max<std::int64_t>(0, now_ms() - idle_since) : 0);
  if (cell.empty())
    row.null("cell");
  else
    row.text("cell", cell);
  row.number("queued", queued).number("jobs", jobs);
  if (victim_rank > 0)
    row.number("victim_rank", victim_rank);
  else
    row.null("victim_rank");
  return row.take();
}

}  // namespace holdfast::core

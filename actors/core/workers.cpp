#include "actors/core/workers.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <caf/event_based_actor.hpp>

#include "actors/base/caf.hpp"
#include "actors/base/failpoints.hpp"
#include "actors/base/unique_fd.hpp"
#include "actors/core/display_store.hpp"
#include "actors/core/kernel_view.hpp"
#include "actors/core/leftovers.hpp"
#include "actors/link/spool.hpp"

namespace holdfast::core {

/// To itself, behind whatever is in the mailbox: commit what was gathered.
struct commit_now {};

}  // namespace holdfast::core

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(holdfast::core::commit_now)

namespace holdfast::core {

namespace {

struct disk_state {
  shared_context shared;  // for its stores, which must outlive a commit that runs, and its metrics
  std::vector<commit_to_disk> gathered;
  std::optional<storage::failure> poisoned;  // the first failed sync: nothing is tried after it

  void commit() {
    auto requests = std::exchange(gathered, {});
    std::vector<storage::changes> units;
    units.reserve(requests.size());
    for (auto& request : requests) units.push_back(std::move(request.unit));
    std::optional<storage::failure> problem = poisoned;
    if (!problem) {
      commit_timer timer(shared->metrics, store::disk);
      if (auto committed = shared->stores->commit_disk(units); !committed) problem = committed.error();
      timer.done(!problem);
    }
    if (problem) {
      log::error("disk-commit-failed", "disk store refused {} units: {}", units.size(), problem->text);
      if (problem->code == storage::failure_code::failed) poisoned = problem;
    }
    // Without a sender: a broker that has ended keeps what comes to it, and a detached actor that is kept so holds the process.
    for (auto const& request : requests)
      if (request.asker) caf::anon_send(request.asker, disk_committed{request.tag, problem});
  }
};

constexpr std::size_t exit_file_limit = 1 << 20;  // bytes: the longest that a nursery writes is a quarter of that

/// The start of a regular file. A cell can put anything in its place: no pipe and no link is followed, no more than that is read.
std::string read_text(std::filesystem::path const& path) {
  unique_fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::string text(std::min<std::size_t>(static_cast<std::size_t>(status.st_size), exit_file_limit), '\0');
  auto const got = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::optional<remains::state_file> state_file_at(std::string const& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  auto const written_at = status.st_mtim.tv_sec * 1000LL + status.st_mtim.tv_nsec / 1'000'000;
  return remains::state_file{static_cast<std::uint64_t>(status.st_size), written_at};
}

bool sync_path(std::filesystem::path const& path) {
  unique_fd const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file && ::fsync(file.get()) == 0;
}

/// Why not; empty: it is done.
std::string copy_durably(std::filesystem::path const& from, std::filesystem::path const& to) {
  std::error_code problem;
  auto part = to;
  part += ".part";
  if (std::filesystem::is_symlink(from, problem)) return from.string() + " is a link";
  std::filesystem::copy_file(from, part, std::filesystem::copy_options::overwrite_existing, problem);
  if (!problem && !sync_path(part)) problem = {errno, std::generic_category()};
  if (!problem) std::filesystem::rename(part, to, problem);
  if (!problem && !sync_path(to.parent_path())) problem = {errno, std::generic_category()};
  if (!problem) return {};
  std::error_code ignored;
  std::filesystem::remove(part, ignored);
  return problem.message();
}

}  // namespace

caf::actor spawn_disk_store(caf::actor_system& system, shared_context const& shared) {
  return system.spawn<caf::detached>([shared](caf::event_based_actor* self) -> caf::behavior {
    set_handlers(self, "disk-store");
    auto state = std::make_shared<disk_state>();
    state->shared = shared;
    return {
        [=](commit_to_disk& request) {
          state->gathered.push_back(std::move(request));
          if (state->gathered.size() == 1) self->send(self, commit_now{});
        },
        [=](commit_now) { state->commit(); },
    };
  });
}

said read_frame(std::uint64_t seq, std::string_view payload) {
  auto parsed = link::parse_from_kernel(payload);
  if (parsed) return {seq, std::move(*parsed)};
  return {seq, unreadable{std::string(link::claimed_type(payload)), parsed.error()}};
}

remains read_remains_from(std::string const& directory) {
  namespace fs = std::filesystem;
  remains left;
  auto const base = fs::path(directory);
  if (auto text = read_text(base / "exit"); !text.empty()) {
    auto parsed = link::parse_exit_file(text);
    if (parsed)
      left.exit = std::move(*parsed);
    else
      log::warn("exit-unreadable", "{}: {}", (base / "exit").string(), parsed.error());
  }
  link::left_out damage;
  if (auto spool = link::read_spool(base / "spool", &damage)) {
    left.spool_readable = damage.bytes == 0;
    for (auto const& record : *spool) left.frames.push_back(read_frame(record.seq, record.payload));
    if (!left.spool_readable) log::warn("spool-damaged", "{}: left {} bytes out: {}", directory, damage.bytes, damage.reason);
  } else {
    log::warn("spool-unreadable", "{}: {}", directory, spool.error());
  }
  if (auto journal = link::read_journal(base / "journal"))
    left.journal = std::move(*journal);
  else
    log::warn("journal-unreadable", "{}: {}", directory, journal.error());
  return left;
}

caf::actor spawn_file_worker(caf::actor_system& system) {
  return system.spawn<caf::detached>([](caf::event_based_actor* self) -> caf::behavior {
    set_handlers(self, "file-worker");
    return {
        [=](read_remains const& request) {
          auto left = read_remains_from(request.directory);
          left.state = state_file_at(request.state);
          if (!left.exit && request.pid > 0) {
            auto const ended = end_leftovers(request.kernel, request.pid);
            left.ended.assign(ended.begin(), ended.end());
            if (!ended.empty())
              log::info("leftovers-ended", "kernel {} left {} processes, ended", request.kernel.text, ended.size());
          }
          caf::anon_send(request.asker, remains_found{std::move(left)});
        },
        [=](read_display_file const& request) {
          auto found = display_data(request.directory, request.index, request.mime);
          answer made{request.to.connection, request.to.request, {}};
          if (found)
            made.outcome = std::move(*found);
          else
            made.outcome = tl::unexpected(std::move(found.error()));
          caf::anon_send(request.to.front, std::move(made));
        },
        [=](end_job_group const& request) {
          auto const how = end_job(request.job);
          caf::anon_send(request.asker, job_group_ended{request.job, how != job_end::some_left, how != job_end::none_found});
        },
        [=](copy_file const& request) {
          caf::anon_send(request.asker, file_copied{request.tag, copy_durably(request.from, request.to)});
        },
        [=](measure_memory const& request) {
          memory_measured told;
          for (auto const& [kernel, pid] : request.of) told.bytes.emplace(kernel.text, resident_bytes(pid));
          caf::anon_send(request.asker, std::move(told));
        },
        [=](remove_tree const& request) {
          (void)failpoint(failpoint_id::core_before_files_removed);
          // Once more where a nursery, or a kernel on its way out, has changed what is there meanwhile.
          std::error_code problem;
          for (auto left = 3; left > 0; --left)
            if (std::filesystem::remove_all(request.path, problem); !problem) break;
          if (problem) log::warn("remove-failed", "cannot remove {}: {}", request.path, problem.message());
        },
    };
  });
}

}  // namespace holdfast::core

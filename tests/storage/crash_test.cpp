// A writer is killed with SIGKILL at random steps, again and again on one home; after each death the stores are held against
// FORMAT.md's invariants and against what the writer had let out. HOLDFAST_CRASH_ROUNDS sets the rounds.
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "storage/reads.hpp"
#include "tests/storage/crash_writer/ledger.hpp"
#include "tests/storage/invariants.hpp"
#include "tests/storage/raw_stores.hpp"

using namespace holdfast;
using namespace holdfast::storage;
namespace fs = std::filesystem;

namespace {

constexpr int rounds_per_home = 25;
constexpr int usual_rounds = 200;
constexpr int rounds_to_find_a_mistake = 200;

std::uint32_t seed_of_run() {
  if (auto const* given = std::getenv("HOLDFAST_CRASH_SEED")) return static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10));
  return std::random_device{}();
}

/// Death by SIGKILL needs no disk: memory makes more rounds.
fs::path crash_directory() { return ::access("/dev/shm", W_OK) == 0 ? fs::path("/dev/shm") : fs::temp_directory_path(); }

struct home_of_rounds {
  home_of_rounds() {
    std::string name = (crash_directory() / "holdfast-crash-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    directory = name;
  }
  ~home_of_rounds() {
    std::error_code ignored;
    fs::remove_all(directory, ignored);
  }
  fs::path home() const { return directory / "home"; }
  std::string ledger() const { return (directory / "ledger").string(); }

  fs::path directory;
  std::map<std::pair<session_number, cell_number>, cell_status> final_before;  // as the last round found them
  std::map<std::string, std::uint64_t> last_seq_before;
};

enum class writer_end { killed, done, failed };

/// Runs the writer until it dies, is killed or is done; `failed` if it ended in any other way.
writer_end run_writer(home_of_rounds const& at, std::mt19937& random, std::string const& flag) {
  bool const by_step = random() % 10 < 7;
  std::vector<std::string> words{
      CRASH_WRITER, at.home().string(), at.ledger(), std::to_string(random()), std::to_string(by_step ? 1 + random() % 300 : 0),
      "400"};
  if (!flag.empty()) words.push_back(flag);
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  if (::posix_spawn(&child, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return writer_end::failed;
  if (!by_step) {
    // Waits for the writer's end, with a deadline at which it is killed wherever it is.
    auto const pidfd = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
    ::pollfd waiting{pidfd, POLLIN, 0};
    ::timespec const deadline{0, static_cast<long>(random() % 12'000'000)};
    ::ppoll(&waiting, 1, &deadline, nullptr);
    ::kill(child, SIGKILL);
    ::close(pidfd);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGKILL ? writer_end::killed : writer_end::failed;
  return WEXITSTATUS(status) == 0 ? writer_end::done : writer_end::failed;
}

std::string place(crash::entry const& of) {
  return " (session " + std::to_string(of.session) + ", cell " + std::to_string(of.cell) + ")";
}

/// What the ledger proves to have gone out must be in the stores: I9.
void hold_to_ledger(snapshot& in, std::vector<crash::entry> const& entries, std::vector<std::string>& broken) {
  std::set<session_number> closing;
  for (auto const& one : entries) {
    if (one.what == crash::event::closing) closing.insert(one.session);
    if (one.what == crash::event::closed && reads::session(in, one.session))
      broken.push_back("a closed session is there" + place(one));
  }
  std::set<session_number> saved;  // whose kernel may have ended
  for (auto const& one : entries) {
    if (one.what == crash::event::saved) saved.insert(one.session);
    if (one.what == crash::event::waking) saved.erase(one.session);
  }
  for (auto const session : saved)
    if (closing.count(session) == 0 && reads::saved(in, session).empty())
      broken.push_back("I15: a saved namespace is missing" + place({{}, session, 0, 0}));
  std::map<session_number, std::uint64_t> last_seq;
  for (auto const& link : reads::links(in)) last_seq[link.session] = link.last_seq;
  for (auto const& one : entries) {
    if (one.what == crash::event::job_acked && closing.count(one.session) == 0) {
      if (one.seq > last_seq[one.session]) broken.push_back("I9: a job acked above last_seq" + place(one));
      if (!reads::job(in, job_id(crash::job_name(one.session, one.seq))))
        broken.push_back("I9: an acked job is missing" + place(one));
    }
    if (one.cell == 0 || closing.count(one.session) != 0) continue;
    auto const index = in.find<cell_index_codec>(key_of(one.session, "c-" + std::to_string(one.cell)));
    if (!index || index->number != one.cell) {
      broken.push_back(std::string("I9: out, but not recorded: ") + static_cast<char>(one.what) + place(one));
      continue;
    }
    if (one.seq > last_seq[one.session]) broken.push_back("I9: acked above last_seq" + place(one));
    if (index->expired) continue;
    auto const cell = in.find<cell_codec>(key_of(one.session, one.cell));
    if (!cell) {
      broken.push_back("I5: an id without a cell in either store" + place(one));
      continue;
    }
    if (one.what == crash::event::start_acked && cell->started_at == 0)
      broken.push_back("I9: acked, not recorded as started" + place(one));
    if (one.what == crash::event::result_acked && (!is_final(cell->status) || cell->result != std::to_string(one.seq)))
      broken.push_back("I9: an acked result is missing" + place(one));
  }
}

/// Nothing that an earlier round found may have gone back: I7, I8.
void hold_to_past(snapshot& in, home_of_rounds& past, std::vector<std::string>& broken) {
  for (auto const& [where, status] : past.final_before) {
    auto const now = in.find<cell_codec>(key_of(where.first, where.second));
    if (now && now->status != status) broken.push_back("I7: another final status" + place({{}, where.first, where.second, 0}));
  }
  past.final_before.clear();
  merged_cursor walk(in, table::cells, order::ascending);
  for (bool on = walk.start({}); on; on = walk.next()) {
    auto const row = walk.row<cell_codec>();
    if (row && is_final(row->status)) past.final_before[{row->session, row->number}] = row->status;
  }
  for (auto const& link : reads::links(in)) {
    if (link.last_seq < past.last_seq_before[link.kernel.text]) broken.push_back("I8: last_seq fell: " + link.kernel.text);
    past.last_seq_before[link.kernel.text] = link.last_seq;
  }
}

/// What would be left if the system went down with the writer: `disk`, and a new `boot`. Kernels elsewhere have heard nothing that is not
/// in them.
std::vector<std::string> broken_after_reboot(home_of_rounds const& at, std::vector<crash::entry> const& entries) {
  auto const left = at.directory / "rebooted";
  fs::remove_all(left);
  for (auto const* name : {"disk", "boot"}) fs::create_directories(left / name);
  fs::copy(at.home() / "store" / "disk" / "data.mdb", left / "disk" / "data.mdb");
  auto const disk = open_raw(left / "disk");
  auto const boot = open_raw(left / "boot");
  taken(restore_remote_rows(*disk, *boot));
  snapshot in(*boot, *disk);
  auto broken = broken_invariants(in);
  std::set<session_number> elsewhere;
  for (auto const& one : entries)
    if (one.what == crash::event::elsewhere) elsewhere.insert(one.session);
  std::vector<crash::entry> theirs;
  for (auto const& one : entries)
    if (elsewhere.count(one.session) != 0) theirs.push_back(one);
  hold_to_ledger(in, theirs, broken);
  for (auto& each : broken) each = "after a reboot: " + each;
  return broken;
}

std::vector<std::string> broken_after_death(home_of_rounds& at, std::size_t& let_out) {
  // A writer that died before it made the directories left nothing to look at.
  if (!fs::exists(at.home() / "store" / "boot")) return {};
  auto const disk = open_raw(at.home() / "store" / "disk");
  auto const boot = open_raw(at.home() / "store" / "boot");
  snapshot in(*boot, *disk);
  auto broken = broken_invariants(in);
  auto const entries = crash::read_ledger(at.ledger());
  let_out = entries.size();
  hold_to_ledger(in, entries, broken);
  hold_to_past(in, at, broken);
  if (broken.empty()) broken = broken_after_reboot(at, entries);
  return broken;
}

/// How many rounds it took until something was found to be broken, and what; or all rounds and nothing.
struct outcome {
  int rounds = 0;
  std::vector<std::string> broken{};
  int killed = 0;           // rounds that ended in a death
  std::size_t let_out = 0;  // ledger entries of all homes
};

outcome run_rounds(int rounds, std::uint32_t seed, std::string const& flag) {
  std::mt19937 random(seed);
  std::unique_ptr<home_of_rounds> at;
  outcome found;
  std::size_t of_this_home = 0;
  for (; found.rounds < rounds && found.broken.empty(); ++found.rounds) {
    if (found.rounds % rounds_per_home == 0) {
      at = std::make_unique<home_of_rounds>();
      found.let_out += std::exchange(of_this_home, 0);
    }
    auto const end = run_writer(*at, random, flag);
    if (end == writer_end::failed) found.broken = {"the writer failed"};
    if (end == writer_end::killed) ++found.killed;
    if (found.broken.empty()) found.broken = broken_after_death(*at, of_this_home);
  }
  found.let_out += of_this_home;
  return found;
}

}  // namespace

TEST_CASE("a writer killed at any step leaves stores that keep every promise") {
  auto const* wanted = std::getenv("HOLDFAST_CRASH_ROUNDS");
  int const rounds = wanted == nullptr ? usual_rounds : std::atoi(wanted);
  auto const seed = seed_of_run();
  std::cout << "crash rounds: " << rounds << ", HOLDFAST_CRASH_SEED=" << seed << std::endl;

  auto const found = run_rounds(rounds, seed, "");

  std::cout << "crash rounds: " << found.killed << " ended in SIGKILL, " << found.let_out << " effects were let out" << std::endl;
  INFO("HOLDFAST_CRASH_SEED=" << seed << ", round " << found.rounds);
  CHECK(found.killed > rounds / 4);
  CHECK(found.let_out > static_cast<std::size_t>(rounds));
  CHECK(found.broken == std::vector<std::string>{});
  CHECK(found.rounds == rounds);
}

TEST_CASE("the crash test sees what is sent, acked or told elsewhere before it is recorded, or dropped before it is moved") {
  for (std::string const flag : {"--swap", "--ack-first", "--drop-first", "--early"}) {
    auto const seed = seed_of_run();
    INFO(flag << ", HOLDFAST_CRASH_SEED=" << seed);

    auto const found = run_rounds(rounds_to_find_a_mistake, seed, flag);

    CHECK_FALSE(found.broken.empty());
    if (!found.broken.empty()) CHECK(found.broken.front() != "the writer failed");
    std::cout << flag << ": found after " << found.rounds
              << " rounds: " << (found.broken.empty() ? "nothing" : found.broken.front()) << std::endl;
  }
}

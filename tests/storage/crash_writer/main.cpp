// crash_writer HOME LEDGER SEED KILL_AT STEPS [--swap | --ack-first | --drop-first | --early]
// Runs a boiled-down gateway on HOME and dies of SIGKILL at the KILL_AT-th persisting step (0: at none).
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "tests/storage/crash_writer/gateway.hpp"

using namespace holdfast::storage;

namespace {

crash::mistake mistake_named(std::string_view flag) {
  if (flag == "--swap") return crash::mistake::swap;
  if (flag == "--ack-first") return crash::mistake::ack_first;
  if (flag == "--drop-first") return crash::mistake::drop_first;
  if (flag == "--early") return crash::mistake::early;
  return crash::mistake::none;
}

}  // namespace

int main(int count, char** words) {
  if (count < 6) {
    std::cerr << "usage: crash_writer HOME LEDGER SEED KILL_AT STEPS [--swap | --ack-first | --drop-first | --early]\n";
    return 2;
  }
  auto const seed = static_cast<std::uint32_t>(std::strtoul(words[3], nullptr, 10));
  auto const kill_at = std::strtol(words[4], nullptr, 10);
  auto const steps = static_cast<int>(std::strtol(words[5], nullptr, 10));
  std::atomic<long> persisted{0};
  options how{words[1], "boot", "machine", std::size_t{1} << 30, {}};
  how.failpoint = [&](std::string_view) {
    if (++persisted == kill_at) std::raise(SIGKILL);
    return false;
  };
  auto opened = stores::open(how);
  if (!opened) {
    std::cerr << opened.error().text << '\n';
    return 3;
  }
  crash::ledger outside(words[2]);
  crash::gateway(**opened, outside, seed, count > 6 ? mistake_named(words[6]) : crash::mistake::none).run(steps);
  return 0;
}

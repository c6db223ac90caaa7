// What went out of the process and cannot be taken back, written down by write(2) at that moment: the other side's memory.
// The writer appends; the test reads it after the writer's death and holds the stores to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace holdfast::storage::crash {

enum class event : char {
  told = 'a',          // cell.accepted went to the client
  sent = 's',          // execute went to the kernel
  start_acked = 'k',   // the kernel may forget that it started
  result_acked = 'r',  // the kernel may forget the result; the client has it
  job_acked = 'j',     // the kernel may forget that the job was started; `cell` is 0, the job is named by seq
  saved = 'h',         // the kernel may end: its namespace is saved
  waking = 'w',        // the saved namespace is about to be erased: a kernel has it again
  closing = 'z',       // the session's erasure is about to begin
  closed = 'x',        // the client was told that the session is gone
  elsewhere = 'e',     // the session's kernel is elsewhere: it outlives the system of this machine
};

struct entry {
  event what = event::told;
  std::uint64_t session = 0;
  std::uint64_t cell = 0;
  std::uint64_t seq = 0;
};

/// The id of the job whose start has that seq.
inline std::string job_name(std::uint64_t session, std::uint64_t seq) {
  auto const digits = std::to_string(seq);
  return "j-" + std::to_string(session) + "-" + std::string(8 - std::min<std::size_t>(8, digits.size()), '0') + digits;
}

class ledger {
 public:
  explicit ledger(std::string const& path) : file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_ < 0) throw std::runtime_error("cannot open the ledger");
  }
  ~ledger() { ::close(file_); }
  ledger(ledger const&) = delete;
  ledger& operator=(ledger const&) = delete;

  void write(entry const& of) {
    std::ostringstream line;
    line << static_cast<char>(of.what) << ' ' << of.session << ' ' << of.cell << ' ' << of.seq << '\n';
    auto const text = line.str();
    if (::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) throw std::runtime_error("ledger");
  }

 private:
  int file_;
};

inline std::vector<entry> read_ledger(std::string const& path) {
  std::vector<entry> all;
  std::ifstream in(path);
  char what = 0;
  for (entry one; in >> what >> one.session >> one.cell >> one.seq;) {
    one.what = static_cast<event>(what);
    all.push_back(one);
  }
  return all;
}

}  // namespace holdfast::storage::crash

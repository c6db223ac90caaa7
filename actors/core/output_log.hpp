// The kept output of one cell as a file: records in written order, each with its offset, stream and text.
// Appending is idempotent: what lies below the highest offset seen is a replay and is dropped. Survives SIGKILL of the daemon at any
// instruction: a torn last record is cut off when the log is opened again, and its frame, never acked, comes again.
// Collaborators: session. Refuses to keep more than `kept` bytes of text; what is beyond is counted by the kernel.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/base/unique_fd.hpp"
#include "actors/link/messages.hpp"

namespace holdfast::core {

char const* to_string(link::output_stream which);  // "stdout", "stderr"

struct chunk {
  link::output_stream which = link::output_stream::out;
  std::uint64_t offset = 0;
  std::string text;
};

/// Bytes [from, to) that were never received.
struct dropped_range {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

struct output_page {
  std::vector<chunk> chunks;
  std::vector<dropped_range> dropped;
  std::uint64_t next_offset = 0;
};

class output_log {
 public:
  /// Nothing is opened before the first append or read; `kept` is the most text to hold, in bytes.
  explicit output_log(std::filesystem::path file, std::uint64_t kept) : file_(std::move(file)), kept_(kept) {}

  /// False: the record could not be written (a full disk); the output goes on, with a gap.
  bool append(link::output_stream which, std::uint64_t offset, std::string_view text);
  /// Text from `offset` on, at most `limit` bytes but at least one character; next_offset is where to go on.
  output_page read(std::uint64_t offset, std::size_t limit);
  /// There were at least so many bytes of each stream, as somebody else has counted.
  void count_at_least(std::uint64_t out_bytes, std::uint64_t err_bytes);
  /// Of both streams, kept or not.
  std::uint64_t total();
  /// Head, tail and total of one stream: exact for what this object has seen, after a restart for what the file holds.
  link::captured summarize(link::output_stream which);
  /// Where the next text is expected: everything below was seen.
  std::uint64_t end();
  /// Bytes of one stream that this object has seen: of one that has only read, those in the file.
  std::uint64_t bytes(link::output_stream which);

 private:
  bool open_for_append();
  void load_end();

  std::filesystem::path file_;
  std::uint64_t kept_;
  unique_fd fd_;
  /// Highest offset + length seen; none until the file was looked at.
  std::optional<std::uint64_t> end_;
  /// Bytes of whole records in the file.
  std::uint64_t file_bytes_ = 0;
  /// Of each stream: all its bytes, kept or not, and its newest text, at least stream_tail of it if there is that much.
  struct seen {
    std::uint64_t bytes = 0;
    std::string tail;
  };
  seen& seen_of(link::output_stream which) { return seen_[which == link::output_stream::err ? 1 : 0]; }
  std::array<seen, 2> seen_;
};

}  // namespace holdfast::core

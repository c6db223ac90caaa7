#include "actors/core/output_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "actors/base/defaults.hpp"
#include "actors/base/home.hpp"
#include "actors/link/json_writer.hpp"

namespace holdfast::core {

namespace {

/// Before each text in the file, in the machine's byte order: it is never read on another machine.
struct record_header {
  std::uint64_t offset;
  std::uint32_t length;
  std::uint32_t which;
};
static_assert(sizeof(record_header) == 16);

/// A pipe that was put in the file's place holds nobody up; it reads as empty.
unique_fd open_to_read(std::filesystem::path const& file) {
  return unique_fd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

/// Reads of a file that go mostly forward. Small ones share a system call: a cell that flushes every line leaves 100,000 records.
class forward_reader {
 public:
  explicit forward_reader(int fd) : fd_(fd) {}

  /// False: the file ends before, or cannot be read.
  bool read(std::uint64_t position, char* into, std::size_t length) {
    if (length > near_.size()) return ::pread(fd_, into, length, static_cast<off_t>(position)) == static_cast<ssize_t>(length);
    if (position < begin_ || position + length > end_) {
      auto const got = ::pread(fd_, near_.data(), near_.size(), static_cast<off_t>(position));
      begin_ = position;
      end_ = position + static_cast<std::uint64_t>(std::max<ssize_t>(0, got));
      if (position + length > end_) return false;
    }
    std::memcpy(into, near_.data() + (position - begin_), length);
    return true;
  }

  std::string read_text(std::uint64_t position, std::size_t length) {
    std::string text(length, '\0');
    if (!read(position, text.data(), length)) text.clear();
    return text;
  }

  std::uint64_t size() const {
    struct stat status {};
    return ::fstat(fd_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  }

 private:
  int fd_;
  std::array<char, 16 * defaults::kib> near_;
  /// The bytes [begin_, end_) of the file are in near_.
  std::uint64_t begin_ = 0, end_ = 0;
};

/// Calls `visit(header, position of its text)` for each whole record; false from it stops. Returns the bytes of whole records.
template <class Visit>
std::uint64_t for_each_record(forward_reader& file, Visit visit) {
  auto const size = file.size();
  std::uint64_t position = 0;
  while (position + sizeof(record_header) <= size) {
    record_header header{};
    if (!file.read(position, reinterpret_cast<char*>(&header), sizeof header)) break;
    auto const next = position + sizeof header + header.length;
    if (next > size || (header.which != 1 && header.which != 2)) break;
    if (!visit(header, position + sizeof header)) break;
    position = next;
  }
  return position;
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

/// The largest cut not above `limit` that does not split a character.
std::size_t floor_character(std::string_view text, std::size_t limit) {
  if (limit >= text.size()) return text.size();
  while (limit > 0 && is_continuation(text[limit])) --limit;
  return limit;
}

// How much of the text a page with room for `limit` bytes takes: whole characters, the first one of a page in any case. An empty page
// would say that there is nothing more.
std::size_t fitting(std::string_view text, std::size_t limit, bool is_first) {
  auto length = floor_character(text, limit);
  while (is_first && length == 0 && limit < text.size()) length = floor_character(text, ++limit);
  return length;
}

}  // namespace

char const* to_string(link::output_stream which) { return which == link::output_stream::err ? "stderr" : "stdout"; }

void output_log::load_end() {
  if (end_) return;
  end_ = 0;
  auto const file = open_to_read(file_);
  if (!file) return;
  forward_reader reader(file.get());
  file_bytes_ = for_each_record(reader, [&](record_header const& header, std::uint64_t) {
    end_ = std::max(*end_, header.offset + header.length);
    seen_of(static_cast<link::output_stream>(header.which)).bytes += header.length;
    return true;
  });
}

std::uint64_t output_log::end() {
  load_end();
  return *end_;
}

std::uint64_t output_log::bytes(link::output_stream which) {
  load_end();
  return seen_of(which).bytes;
}

void output_log::count_at_least(std::uint64_t out_bytes, std::uint64_t err_bytes) {
  load_end();
  auto& out = seen_of(link::output_stream::out).bytes;
  auto& err = seen_of(link::output_stream::err).bytes;
  out = std::max(out, out_bytes);
  err = std::max(err, err_bytes);
}

std::uint64_t output_log::total() { return std::max(end(), seen_[0].bytes + seen_[1].bytes); }

bool output_log::open_for_append() {
  if (fd_) return true;
  load_end();
  (void)make_private_directory(file_.parent_path());
  fd_ = unique_fd(::open(file_.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600));
  // A torn record of an earlier incarnation must not swallow the next one.
  return fd_ && ::ftruncate(fd_.get(), static_cast<off_t>(file_bytes_)) == 0;
}

bool output_log::append(link::output_stream which, std::uint64_t offset, std::string_view text) {
  load_end();
  if (offset + text.size() <= *end_) return true;
  if (offset < *end_) {
    text.remove_prefix(*end_ - offset);
    offset = *end_;
  }
  auto const wanted = text.size();
  auto& stream = seen_of(which);
  stream.bytes += wanted;
  stream.tail += text.substr(wanted - std::min(wanted, defaults::stream_tail));
  if (stream.tail.size() > 2 * defaults::stream_tail) stream.tail.erase(0, stream.tail.size() - defaults::stream_tail);
  text = text.substr(0, floor_character(text, offset < kept_ ? kept_ - offset : 0));
  if (text.empty()) {
    end_ = offset + wanted;
    return true;
  }
  if (!open_for_append()) return false;
  record_header header{offset, static_cast<std::uint32_t>(text.size()), static_cast<std::uint32_t>(which)};
  iovec parts[2] = {{&header, sizeof header}, {const_cast<char*>(text.data()), text.size()}};
  auto const total = sizeof header + text.size();
  if (::pwritev(fd_.get(), parts, 2, static_cast<off_t>(file_bytes_)) != static_cast<ssize_t>(total)) {
    (void)!::ftruncate(fd_.get(), static_cast<off_t>(file_bytes_));
    return false;
  }
  file_bytes_ += total;
  end_ = offset + wanted;
  return true;
}

output_page output_log::read(std::uint64_t offset, std::size_t limit) {
  output_page page;
  page.next_offset = offset;
  std::size_t written = 0;  // about, of the page as JSON
  auto const file = open_to_read(file_);
  if (!file) return page;
  forward_reader reader(file.get());
  for_each_record(reader, [&](record_header const& header, std::uint64_t position) {
    if (header.offset + header.length <= page.next_offset) return true;
    if (header.offset > page.next_offset) {
      page.dropped.push_back({page.next_offset, header.offset});
      page.next_offset = header.offset;
    }
    auto const skip = page.next_offset - header.offset;
    auto text = reader.read_text(position + skip, header.length - skip);
    auto const length = fitting(text, limit, page.chunks.empty());
    if (length == 0) return false;  // the next character does not fit any more
    text.resize(length);
    written += defaults::chunk_json + link::json_string_bytes(text);
    if (written > defaults::page_json && !page.chunks.empty()) return false;
    limit -= std::min(limit, length);
    page.next_offset += length;
    auto const which = static_cast<link::output_stream>(header.which);
    if (!page.chunks.empty() && page.chunks.back().which == which &&
        page.chunks.back().offset + page.chunks.back().text.size() == page.next_offset - length)
      page.chunks.back().text += text;
    else
      page.chunks.push_back({which, page.next_offset - length, std::move(text)});
    // What did not fit of this record comes before any other: going on would tell it as dropped.
    return limit > 0 && page.next_offset == header.offset + header.length;
  });
  return page;
}

link::captured output_log::summarize(link::output_stream which) {
  link::captured summary;
  std::string all;  // at most kept_ bytes
  auto const file = open_to_read(file_);
  if (!file) return summary;
  forward_reader reader(file.get());
  for_each_record(reader, [&](record_header const& header, std::uint64_t position) {
    if (static_cast<link::output_stream>(header.which) == which) all += reader.read_text(position, header.length);
    return true;
  });
  load_end();
  summary.bytes = std::max<std::uint64_t>(all.size(), seen_of(which).bytes);
  if (summary.bytes <= defaults::stream_text_limit) {
    // What lies beyond the kept text was seen, if it is among the newest.
    summary.head = all.size() < summary.bytes && seen_of(which).tail.size() == summary.bytes ? seen_of(which).tail : std::move(all);
    return summary;
  }
  summary.head = all.substr(0, floor_character(all, defaults::stream_head));
  auto const& newest = seen_of(which).tail.size() >= defaults::stream_tail ? seen_of(which).tail : all;
  auto start = newest.size() - std::min(newest.size(), defaults::stream_tail);
  while (start < newest.size() && is_continuation(newest[start])) ++start;
  summary.tail = newest.substr(start);
  return summary;
}

}  // namespace holdfast::core

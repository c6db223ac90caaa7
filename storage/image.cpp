#include "storage/image.hpp"

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace holdfast::storage {
namespace {

// The format of LMDB 0.9 (data version 1), in the machine's byte order; names as in its source.
constexpr std::uint32_t magic = 0xBEEFC0DE;
constexpr std::uint32_t data_version = 1;
constexpr std::uint64_t no_page = ~std::uint64_t{0};
constexpr std::size_t page_header = 16;
constexpr std::size_t node_header = 8;
constexpr std::size_t depth_most = 32;             // of LMDB's own cursor
constexpr std::uint64_t unwritten_most = 1 << 20;  // free pages at the end, which LMDB need not have written
constexpr std::uint16_t branch_page = 1, leaf_page = 2, overflow_page = 4, meta_page = 8;
constexpr std::uint16_t big_data = 1, sub_tree = 2;
constexpr std::uint16_t integer_key = 8;

struct tree {  // MDB_db
  std::uint32_t pad;
  std::uint16_t flags, depth;
  std::uint64_t branches, leaves, overflows, entries, root;
};
static_assert(sizeof(tree) == 48);

struct meta {  // MDB_meta
  std::uint32_t magic, version;
  std::uint64_t address, map_size;
  tree free, main;  // `pad` of the first is the page size
  std::uint64_t last_page, transaction;
};
static_assert(sizeof(meta) == 136);

struct header {  // MDB_page
  std::uint64_t number;
  std::uint16_t pad, flags;
  std::uint16_t lower, upper;  // of an overflow page: its count of pages
};
static_assert(sizeof(header) == page_header);

template <class T>
T at(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// One look at one file. Every step answers false once something is wrong, and `wrong` says what.
class inspection {
 public:
  inspection(int file, std::uint64_t size) : file_(file), size_(size) {}

  bool run() {
    if (!read_metas() || !walk(meta_.free, kind::free, 0) || !walk(meta_.main, kind::main, 0)) return false;
    for (auto const& [page, where] : freed_)
      if (!take(page, 1, where, true)) return false;
    return true;
  }
  std::string wrong;

 private:
  enum class kind { free, main, rows };

  bool fail(std::string what) {
    if (wrong.empty()) wrong = std::move(what);
    return false;
  }
  static std::string name(std::uint64_t page) { return "page " + std::to_string(page); }

  bool read(std::uint64_t offset, std::size_t length, std::string& into) {
    into.resize(length);
    std::size_t got = 0;
    while (got < length) {
      auto const count = ::pread(file_, into.data() + got, length - got, static_cast<::off_t>(offset + got));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fail(std::string("found ") + std::strerror(errno) + " at byte " + std::to_string(offset + got));
      if (count == 0) return fail("found its end at byte " + std::to_string(offset + got));
      got += static_cast<std::size_t>(count);
    }
    return true;
  }

  /// Both, as LMDB insists on both; the newer one counts.
  bool read_metas() {
    std::string bytes;
    std::optional<meta> newest;
    for (int which = 0; which < 2; ++which) {
      if (size_ < page_size_ * static_cast<std::size_t>(which) + page_header + sizeof(meta))
        return fail("found " + std::to_string(size_) + " bytes, which is less than its first two pages");
      if (!read(page_size_ * static_cast<std::uint64_t>(which), page_header + sizeof(meta), bytes)) return false;
      auto const found = at<meta>(bytes, page_header);
      if (!(at<header>(bytes, 0).flags & meta_page) || found.magic != magic)
        return fail(name(static_cast<std::uint64_t>(which)) + " is no header");
      if (found.version != data_version) return fail("found format " + std::to_string(found.version) + ", wanted 1");
      auto const page_size = found.free.pad;
      if (!std::has_single_bit(page_size) || page_size < 512 || page_size > 65536 || (newest && page_size != page_size_))
        return fail("found pages of " + std::to_string(page_size) + " bytes");
      page_size_ = page_size;
      if (!newest || found.transaction > newest->transaction) newest = found;
    }
    meta_ = *newest;
    if (meta_.last_page < 1 || meta_.last_page > size_ / page_size_ + unwritten_most)
      return fail("its header wants " + std::to_string(meta_.last_page) + " pages, found " + std::to_string(size_ / page_size_));
    if (meta_.free.flags != integer_key || meta_.main.flags != 0) return fail("its header names trees of an unknown kind");
    taken_.assign(meta_.last_page + 1, false);
    taken_[0] = taken_[1] = true;
    return true;
  }

  /// `count` pages from `first` belong to one thing alone, and are there unless they are free.
  bool take(std::uint64_t first, std::uint64_t count, std::uint64_t from, bool is_free = false) {
    if (first > meta_.last_page || count == 0 || count > meta_.last_page + 1 - first)
      return fail(name(from) + " names " + name(first) + ", the last one is " + std::to_string(meta_.last_page));
    if (!is_free && (first + count) * page_size_ > size_)
      return fail(name(first + count - 1) + " is missing: the file ends at byte " + std::to_string(size_));
    for (auto page = first; page < first + count; ++page) {
      if (taken_[page]) return fail(name(from) + " names " + name(page) + ", which is something else already");
      taken_[page] = true;
    }
    return true;
  }

  bool walk(tree const& in, kind of, std::uint64_t from) {
    if (in.root == no_page) return true;
    last_key_.reset();
    return visit(in.root, of, from, 1);
  }

  bool visit(std::uint64_t number, kind of, std::uint64_t from, std::size_t depth) {
    if (depth > depth_most) return fail(name(from) + " lies deeper than a tree may be");
    if (!take(number, 1, from)) return false;
    std::string page;
    if (!read(number * page_size_, page_size_, page)) return false;
    auto const head = at<header>(page, 0);
    // The whole word: a page marked as dirty, which no committed one is, LMDB would write in place, into a map that is read-only.
    auto const what = head.flags;
    if (head.number != number || (what != branch_page && what != leaf_page)) return fail(name(number) + " is no page of a tree");
    if (head.lower < page_header || head.lower % 2 != 0 || head.upper < head.lower || head.upper > page_size_)
      return fail(name(number) + " has wrong bounds");
    std::size_t const count = (head.lower - page_header) / 2;
    // LMDB gives a page up with its last entry; a branch has two children at least, but for the tree of free pages.
    if (count < (what == branch_page && of != kind::free ? 2u : 1u))
      return fail(name(number) + " has " + std::to_string(count) + " entries");
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t const offset = at<std::uint16_t>(page, page_header + 2 * i);
      if (offset < head.upper || offset + node_header > page_size_) return fail(name(number) + " has an entry out of bounds");
      std::size_t const key_size = at<std::uint16_t>(page, offset + 6);
      if (offset + node_header + key_size > page_size_) return fail(name(number) + " has a key out of bounds");
      if (what == branch_page) {
        auto const child = at<std::uint16_t>(page, offset) | std::uint64_t{at<std::uint16_t>(page, offset + 2)} << 16 |
                           std::uint64_t{at<std::uint16_t>(page, offset + 4)} << 32;
        if (!visit(child, of, number, depth + 1)) return false;
      } else if (!look_at_entry(page, number, of, offset, key_size)) {
        return false;
      }
    }
    return true;
  }

  bool look_at_entry(std::string const& page, std::uint64_t number, kind of, std::size_t offset, std::size_t key_size) {
    std::uint64_t const size = at<std::uint16_t>(page, offset) | std::uint32_t{at<std::uint16_t>(page, offset + 2)} << 16;
    auto const flags = at<std::uint16_t>(page, offset + 4);
    auto const key = std::string_view(page).substr(offset + node_header, key_size);
    auto const place = offset + node_header + key_size;
    auto const is_big = flags == big_data;
    if (flags != (of == kind::main ? sub_tree : 0) && !is_big) return fail(name(number) + " has an entry of an unknown kind");
    if (place + (is_big ? sizeof(std::uint64_t) : size) > page_size_) return fail(name(number) + " has a value out of bounds");
    if (!follows(key, of)) return fail(name(number) + " has keys out of order");
    if (is_big) return look_at_long_value(at<std::uint64_t>(page, place), size, of, number);
    if (of == kind::free) return look_at_freed(std::string_view(page).substr(place, size), number);
    if (of == kind::rows) return true;
    if (size != sizeof(tree)) return fail(name(number) + " has a table of an unknown kind");
    auto const table = at<tree>(page, place);
    if (table.flags != 0) return fail(name(number) + " has a table of an unknown kind");
    auto const last = last_key_;
    if (!walk(table, kind::rows, number)) return false;
    last_key_ = last;
    return true;
  }

  bool look_at_long_value(std::uint64_t first, std::uint64_t size, kind of, std::uint64_t from) {
    auto const needed = (page_header - 1 + size) / page_size_ + 1;
    std::string bytes;
    if (first > meta_.last_page || !read(first * page_size_, page_header, bytes))
      return fail(name(from) + " names " + name(first) + ", which is not there");
    auto const head = at<header>(bytes, 0);
    std::uint64_t const pages = at<std::uint32_t>(bytes, 12);  // more than needed when a shorter value was put over a longer one
    if (head.number != first || head.flags != overflow_page || pages < needed || of == kind::main)
      return fail(name(first) + " is no value of " + std::to_string(size) + " bytes");
    if (!take(first, pages, from)) return false;
    if (of == kind::free && !read(first * page_size_, page_header + static_cast<std::size_t>(size), bytes)) return false;
    return of != kind::free || look_at_freed(std::string_view(bytes).substr(page_header), from);
  }

  /// Pages that one transaction left free: a count, then as many numbers. They are taken last: a tree that uses one is what is wrong.
  bool look_at_freed(std::string_view list, std::uint64_t from) {
    constexpr auto each = sizeof(std::uint64_t);
    if (list.size() < each || at<std::uint64_t>(list, 0) > list.size() / each - 1)
      return fail(name(from) + " has a list of free pages that is cut short");
    for (std::uint64_t i = 1; i <= at<std::uint64_t>(list, 0); ++i) freed_.emplace_back(at<std::uint64_t>(list, i * each), from);
    return true;
  }

  bool follows(std::string_view key, kind of) {
    auto const is_number = of == kind::free;
    if (is_number && key.size() != sizeof(std::uint64_t)) return false;
    auto const is_above = !last_key_ || (is_number ? at<std::uint64_t>(*last_key_, 0) < at<std::uint64_t>(key, 0)
                                                   : std::string_view(*last_key_) < key);
    last_key_ = key;
    return is_above && !key.empty();
  }

  int file_;
  std::uint64_t size_;
  std::uint64_t page_size_ = 0;  // 0 until the first header was read
  meta meta_{};
  std::vector<bool> taken_;                                     // by page: it belongs to something
  std::optional<std::string> last_key_;                         // of the tree that is walked
  std::vector<std::pair<std::uint64_t, std::uint64_t>> freed_;  // page, and the page that says so
};

}  // namespace

result<void> check_image(std::filesystem::path const& file) {
  int const descriptor = ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return tl::unexpected(failure_of(errno, "cannot open", file));
  struct ::stat status {};
  if (::fstat(descriptor, &status) != 0) {
    int const error = errno;
    ::close(descriptor);
    return tl::unexpected(failure_of(error, "cannot look at", file));
  }
  inspection look(descriptor, static_cast<std::uint64_t>(status.st_size));
  auto const sound = look.run();
  ::close(descriptor);
  if (sound) return {};
  return tl::unexpected(failure{failure_code::damaged, "cannot open the store " + file.string() + ": " + look.wrong +
                                                           "; restore it from a backup, or move it away to begin anew"});
}

}  // namespace holdfast::storage

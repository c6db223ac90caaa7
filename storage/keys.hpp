// The keys of every table. Integers are big-endian so that LMDB's byte order is theirs; see FORMAT.md.
#pragma once

#include <string_view>

#include "storage/bytes.hpp"
#include "storage/ids.hpp"

namespace holdfast::storage {

/// A key on the stack. Holds at most 511 bytes, LMDB's limit; what would not fit makes it `too_long`, which no table accepts.
class key_buffer {
 public:
  static constexpr std::size_t limit = 511;

  key_buffer& number(std::uint64_t value) {
    char digits[sizeof value];
    store_big_endian(value, digits);
    return text({digits, sizeof digits});
  }
  key_buffer& text(std::string_view part) {
    auto const taken = std::min(part.size(), sizeof data_ - size_);
    std::memcpy(data_ + size_, part.data(), taken);
    size_ += taken;
    return *this;
  }
  key_buffer& separator() { return text({"\0", 1}); }

  std::string_view view() const { return {data_, size_}; }
  operator std::string_view() const { return view(); }

 private:
  char data_[limit + 1];  // one more, so that LMDB refuses what was cut
  std::size_t size_ = 0;
};

inline key_buffer key_of(std::uint64_t number) { return key_buffer{}.number(number); }
inline key_buffer key_of(session_number session, cell_number cell) { return key_buffer{}.number(session).number(cell); }
inline key_buffer key_of(session_number session, std::string_view id) { return key_buffer{}.number(session).text(id); }
inline key_buffer key_of(session_key const& key) {
  return key_buffer{}.text(key.owner).separator().text(key.child).separator().text(key.session);
}
inline key_buffer owner_prefix(std::string_view owner) { return key_buffer{}.text(owner).separator(); }
inline key_buffer owner_key(std::string_view owner, session_number session) { return owner_prefix(owner).number(session); }

/// The session that a key of a table keyed by sessions starts with; 0 for a key too short to have one.
inline session_number session_in(std::string_view key) { return key.size() < 8 ? 0 : load_big_endian<std::uint64_t>(key.data()); }
/// The job in a key of (session, job).
inline std::string_view job_in(std::string_view key) { return key.size() < 8 ? std::string_view{} : key.substr(8); }
/// The cell in a key of (session, cell); 0 for a key too short to have one.
inline cell_number cell_in(std::string_view key) { return key.size() < 16 ? 0 : load_big_endian<std::uint64_t>(key.data() + 8); }

}  // namespace holdfast::storage

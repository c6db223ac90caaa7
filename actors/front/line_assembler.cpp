#include "actors/front/line_assembler.hpp"

namespace holdfast::front {
namespace {

constexpr std::size_t kept_capacity = 4096;  // a buffer that grew beyond is given back after its line

/// Assigning an empty string would keep the memory.
void give_back(std::string& text) { std::string().swap(text); }

}  // namespace

void line_assembler::feed(std::string_view bytes, time_point now, std::function<bool(std::string_view)> const& on_line,
                          std::function<bool()> const& on_overlong) {
  while (!bytes.empty()) {
    if (!began_at_) began_at_ = now;
    auto const end = bytes.find('\n');
    auto const piece = bytes.substr(0, end);
    if (!skipping_ && line_.size() + piece.size() > limit_) {
      give_back(line_);
      skipping_ = true;
      if (!on_overlong()) return;
    }
    if (end == bytes.npos) {
      if (!skipping_) line_ += piece;
      return;
    }
    bytes.remove_prefix(end + 1);
    began_at_.reset();
    if (skipping_) {
      skipping_ = false;
    } else if (line_.empty()) {
      if (!on_line(piece)) return;
    } else {
      line_ += piece;
      bool const go_on = on_line(line_);
      if (line_.capacity() > kept_capacity) give_back(line_);
      line_.clear();
      if (!go_on) return;
    }
  }
}

}  // namespace holdfast::front

#include "actors/link/decoder.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::link {

namespace {

std::size_t held(decoder::item const& item) {
  auto const* whole = std::get_if<frame>(&item);
  return header_bytes + (whole ? whole->payload.size() : 0);
}

}  // namespace

void decoder::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (skip_ > 0) {
      auto const dropped = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, bytes.size()));
      skip_ -= dropped;
      bytes.remove_prefix(dropped);
    } else if (missing_ > 0) {
      auto const taken = std::min(missing_, bytes.size());
      auto const total = payload_.size() + missing_;
      auto const needed = payload_.size() + taken;
      if (payload_.capacity() < needed) payload_.reserve(std::min(total, 2 * needed));
      payload_.append(bytes.substr(0, taken));
      missing_ -= taken;
      bytes.remove_prefix(taken);
      if (missing_ == 0) on_frame();
    } else {
      auto const taken = std::min(header_bytes - header_.size(), bytes.size());
      header_.append(bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      if (header_.size() == header_bytes) on_header();
    }
  }
}

void decoder::on_header() {
  auto const length = detail::read_big_endian<std::uint32_t>(header_.data());
  current_.seq = detail::read_big_endian<std::uint64_t>(header_.data() + 4);
  current_.ack = detail::read_big_endian<std::uint64_t>(header_.data() + 12);
  header_.clear();
  if (length > max_payload) {
    skip_ = length;
    ready_.emplace_back(oversized{current_.seq, current_.ack, length});
    ready_bytes_ += header_bytes;
  } else if (length == 0) {
    on_frame();
  } else {
    missing_ = length;
  }
}

void decoder::on_frame() {
  // The payload is handed on with its buffer, so that a large frame leaves no capacity behind.
  ready_.emplace_back(frame{current_.seq, current_.ack, std::exchange(payload_, {})});
  ready_bytes_ += held(ready_.back());
}

std::optional<decoder::item> decoder::next() {
  if (ready_.empty()) return std::nullopt;
  std::optional<item> taken{std::move(ready_.front())};
  ready_.pop_front();
  ready_bytes_ -= held(*taken);
  return taken;
}

}  // namespace holdfast::link

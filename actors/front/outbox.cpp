#include "actors/front/outbox.hpp"

#include <algorithm>

#include "actors/front/rpc.hpp"

namespace holdfast::front {

outbox::verdict outbox::push(std::string line) {
  if (queued_bytes_ + line.size() > limits_.all) return verdict::overflow;
  queued_bytes_ += line.size();
  lines_.push_back(std::move(line));
  return verdict::queued;
}

outbox::verdict outbox::push_stream(std::string_view params) {
  bool const is_full = queued_bytes_ > limits_.stream;
  if (!is_full && dropped_.empty()) return push(notification_line("cell.stream", with_dropped_bytes(params, 0)));
  auto facts = read_stream_facts(params);
  if (is_full) {
    dropped_[std::move(facts.cell)] += facts.text_bytes + facts.lost_bytes;
    return verdict::dropped;
  }
  std::uint64_t lost = 0;
  if (auto const found = dropped_.find(facts.cell); found != dropped_.end()) {
    lost = found->second;
    dropped_.erase(found);
  }
  return push(notification_line("cell.stream", with_dropped_bytes(params, lost)));
}

std::string_view outbox::front(std::size_t limit) const {
  if (lines_.empty()) return {};
  return std::string_view(lines_.front()).substr(offset_, limit);
}

void outbox::consume(std::size_t bytes) {
  queued_bytes_ -= std::min(bytes, queued_bytes_);
  offset_ += bytes;
  while (!lines_.empty() && offset_ >= lines_.front().size()) {
    offset_ -= lines_.front().size();
    lines_.pop_front();
  }
}

}  // namespace holdfast::front

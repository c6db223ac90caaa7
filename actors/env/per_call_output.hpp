// What a cell without a kernel has written: bytes of two pipes become pieces of text with offsets, in a bounded amount.
// Collaborators: per_call. Pure. Characters are joined over reads, what is no UTF-8 is replaced; beyond defaults::output_kept bytes of both
// streams only the newest of each is kept, and all is counted.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/env/per_call.hpp"

namespace holdfast::env {

class per_call_output {
 public:
  using pieces = std::vector<per_call_said::piece>;

  void add(link::output_stream which, std::string_view bytes);
  /// What is to be sent now.
  pieces take() {
    waiting_ = 0;
    return std::exchange(ready_, {});
  }
  std::size_t waiting() const { return waiting_; }  // bytes of that
  /// Nothing more comes: the last pieces, with the newest of what was not kept.
  pieces finish();
  std::uint64_t bytes(link::output_stream which) const { return of(which).bytes; }

 private:
  struct seen {
    std::string unfinished;   // bytes of a character that is not whole
    std::string newest;       // of what is beyond the kept bytes; at most twice stream_tail
    std::uint64_t bytes = 0;  // of text, kept or not
  };
  seen& of(link::output_stream which) { return streams_[which == link::output_stream::err ? 1 : 0]; }
  seen const& of(link::output_stream which) const { return streams_[which == link::output_stream::err ? 1 : 0]; }
  void add_text(link::output_stream which, std::string text);

  std::array<seen, 2> streams_;
  pieces ready_;
  std::size_t waiting_ = 0;
};

}  // namespace holdfast::env

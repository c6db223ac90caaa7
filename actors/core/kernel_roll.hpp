// How many kernels are there, and who waits for one? Kept up by those who have and want them, so that nobody has to look through sessions
// to decide whether another kernel may be started: no hibernated session costs anything here. Lives in the context, on the multiplexer
// thread. Refuses to choose victims (eviction.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <caf/actor.hpp>

#include "actors/core/eviction.hpp"

namespace holdfast::core {

class kernel_roll {
 public:
  /// `changed` is called when somebody should look at kernels and waiters anew.
  kernel_roll(kernel_limits limits, std::function<void()> changed) : limits_(limits), changed_(std::move(changed)) {}
  kernel_roll(kernel_roll const&) = delete;
  kernel_roll& operator=(kernel_roll const&) = delete;

  struct counted {
    std::string owner;
    std::uint64_t memory_bytes = 0;  // resident here; assumed until it is measured
  };
  struct waiting {
    std::string owner;
    caf::actor session;
    bool is_here = true;  // it is to run on this machine, and takes memory of it
  };

  /// A kernel is counted as long as this is held: from its intended link to its proven end. Orphans are not: they would keep their session
  /// from its fresh kernel.
  class place {
   public:
    place() = default;
    place(place&& other) noexcept : roll_(std::exchange(other.roll_, nullptr)), at_(other.at_) {}
    place& operator=(place&& other) noexcept;
    ~place() { leave(); }

    std::uint64_t memory_bytes() const { return roll_ == nullptr ? 0 : at_->memory_bytes; }
    /// Its resident bytes as they were read.
    void measured(std::uint64_t bytes);

   private:
    friend kernel_roll;
    void leave() noexcept;

    kernel_roll* roll_ = nullptr;
    std::list<counted>::iterator at_{};
  };

  /// A session waits for room as long as this is held.
  class turn {
   public:
    turn() = default;
    turn(turn&& other) noexcept : roll_(std::exchange(other.roll_, nullptr)), at_(other.at_) {}
    turn& operator=(turn&& other) noexcept;
    ~turn() { leave(); }

    explicit operator bool() const { return roll_ != nullptr; }

   private:
    friend kernel_roll;
    void leave() noexcept;

    kernel_roll* roll_ = nullptr;
    std::list<waiting>::iterator at_{};
  };

  /// One that runs elsewhere takes no memory of this machine.
  place enter(std::string owner, bool is_here = true);
  /// The last in the order of arrival.
  turn wait(std::string owner, caf::actor session, bool is_here = true);

  /// Whether a kernel may be started now by somebody with that turn, or with none yet: who waits for longer comes first where both can.
  shortage shortage_for(std::string_view owner, turn const& own, bool is_here = true) const;
  /// Those who wait and may start now, in order of arrival.
  std::vector<caf::actor> admitted() const;

  kernel_limits const& limits() const { return limits_; }
  std::size_t kernels() const { return kernels_.size(); }
  std::size_t of(std::string_view owner) const;
  std::uint64_t memory_bytes() const { return memory_; }
  std::list<waiting> const& queue() const { return queue_; }
  /// A kernel that becomes idle now may be wanted to go.
  bool is_short() const;
  void look() const { changed_(); }

 private:
  struct hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  class rehearsal;

  kernel_limits limits_;
  std::function<void()> changed_;
  std::list<counted> kernels_;
  std::unordered_map<std::string, std::size_t, hash, std::equal_to<>> of_owner_;  // none is 0
  std::uint64_t memory_ = 0;                                                      // the sum over kernels_
  std::list<waiting> queue_;                                                      // in order of arrival
};

}  // namespace holdfast::core

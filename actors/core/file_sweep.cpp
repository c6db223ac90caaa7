#include "actors/core/file_sweep.hpp"

#include <array>
#include <charconv>

#include <caf/send.hpp>

#include "actors/core/messages.hpp"

namespace holdfast::core {

namespace {

constexpr std::array<char const*, 2> swept = {"output", "state"};

/// The number that a name starts with, such as "7" or "7.0.part"; 0: it is no name of ours.
session_number session_of(std::string const& name) {
  session_number number = 0;
  auto const [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  return problem == std::errc{} && (*end == '\0' || *end == '.') ? number : 0;
}

}  // namespace

void file_sweep::start() {
  last_ = shared_->last_session;
  open_next();
  wake_.at(self_, *(due_ = std::chrono::steady_clock::now() + defaults::sweep_pause));
}

void file_sweep::open_next() {
  std::error_code problem;
  at_ = std::filesystem::directory_iterator(shared_->path(swept[static_cast<std::size_t>(opened_++)]), problem);
}

void file_sweep::on_wake(steady_time now) {
  if (!due_) return;
  if (*due_ > now) return wake_.at(self_, *due_);
  due_.reset();
  for (std::size_t count = 0; count < defaults::sweep_at_once; ++count) {
    while (at_ == std::filesystem::directory_iterator{}) {
      if (opened_ == static_cast<int>(swept.size())) return;
      open_next();
    }
    look_at(at_->path());
    std::error_code problem;
    at_.increment(problem);
  }
  wake_.at(self_, *(due_ = now + defaults::sweep_pause));
}

void file_sweep::look_at(std::filesystem::path const& path) {
  auto const number = session_of(path.filename().string());
  // One that was given since the start may be a fork's, whose files come before its row. One that never was is of a fork that a death
  // ended.
  if (number == 0 || (number > last_ && number <= shared_->last_session)) return;
  auto const row = shared_->stores->session(number);
  if (!row || *row) return;  // it is there, or that is not known
  caf::anon_send(shared_->files, remove_tree{path.string()});
}

}  // namespace holdfast::core

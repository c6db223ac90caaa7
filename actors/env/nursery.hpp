// One nursery as its environment sees it: its row, its link, and what is asked of it. No decisions of its own.
#pragma once

#include <deque>
#include <map>
#include <set>

#include "actors/base/caf.hpp"
#include "actors/env/messages.hpp"
#include "actors/link/socket_link.hpp"

namespace holdfast::env {

struct nursery {
  enum class phase {
    starting,   // its first process runs
    attaching,  // it should listen; retried without end while it may be alive
    attached,
  };

  nursery(caf::io::broker* self, storage::nursery_record record) : row(std::move(record)), link(self, 0) {}

  storage::nursery_record row;
  phase now = phase::starting;
  link::socket_link link;
  process_watch watch;  // set once its process was identified
  std::uint32_t speaks = link::protocol;
  milliseconds retry_delay{0};
  steady_time next_try{};                   // when attaching and not connected
  std::map<kernel_id, spawn_kernel> asked;  // not answered yet, whether or not the request was written
  std::map<kernel_id, steady_time> ask_deadlines;
};

}  // namespace holdfast::env

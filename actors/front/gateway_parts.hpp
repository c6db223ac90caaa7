// What is behind holdfast::gateway. Apart from gateway.cpp only tests make one, with a core of their own.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "actors/front/callback_thread.hpp"
#include "actors/front/runtime.hpp"
#include "holdfast/holdfast.hpp"

namespace holdfast {

struct gateway::parts {
  config configuration;
  std::function<result<front::core_handle>(caf::actor_system&, holdfast::config const&)> start_core;  // empty: the real one
  std::vector<env::exec_registration> environments;
  std::function<void(notice const&)> on_notice;
  std::function<void(event const&)> on_event;

  std::mutex mutex;                                   // start and stop, one at a time
  std::unique_ptr<front::callback_thread> callbacks;  // outlives `runtime`, which posts to it
  std::unique_ptr<front::runtime> runtime;            // from start() on
};

}  // namespace holdfast

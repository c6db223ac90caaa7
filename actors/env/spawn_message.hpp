// What a nursery is told of a kernel that it is to fork. Pure.
#pragma once

#include "actors/base/config.hpp"
#include "actors/env/messages.hpp"
#include "actors/env/variables.hpp"
#include "actors/link/messages.hpp"

namespace holdfast::env {

link::spawn spawn_message(spawn_kernel const& request, config const& settings, variables const& gateway,
                          std::string const& home_id);

}  // namespace holdfast::env

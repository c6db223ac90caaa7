// What a start finds in the stores, brought back: nurseries are relinked, every linked kernel is attached in parallel, open cells without a
// kernel get one or an honest end. Read top to bottom: it is the whole of recovery.
#pragma once

#include <caf/actor_system.hpp>

#include "actors/core/context.hpp"

namespace holdfast::core {

/// On the multiplexer thread, before any request is taken.
void recover(caf::actor_system& system, shared_context const& shared);

}  // namespace holdfast::core

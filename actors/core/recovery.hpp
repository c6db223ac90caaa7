// What a start finds in the stores, brought back: nurseries are relinked, every linked kernel is attached in parallel, open cells without a
// kernel get one or an honest end, run directories without a link go. How a kernel is found is kernel.cpp's, what it told session.cpp's.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include <caf/actor_system.hpp>

#include "actors/core/context.hpp"

namespace holdfast::core {

struct recovery_plan {
  std::vector<storage::nursery_record> nurseries;
  std::map<session_number, std::vector<storage::link_record>> sessions;  // with kernels or open cells
  storage::unmoved_rows unmoved;                                         // what an earlier daemon did not live to move
};

/// Read before anything starts: a link that cannot be read is a kernel that would be forgotten without proof of its end.
result<recovery_plan> plan_recovery(storage::stores& stores);

/// On the multiplexer thread, before any request is taken.
void recover(caf::actor_system& system, shared_context const& shared, recovery_plan plan);

}  // namespace holdfast::core

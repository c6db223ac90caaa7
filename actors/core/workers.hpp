// The two actors that may block, each on a thread of its own: the disk store (synced commits, in groups) and the reader of what dead
// kernels left. Everything else runs on the multiplexer thread and never waits.
#pragma once

#include <memory>

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include "actors/core/context.hpp"
#include "actors/core/messages.hpp"

namespace holdfast::core {

/// Takes commit_to_disk. Whatever has arrived while a commit ran goes into the next one.
caf::actor spawn_disk_store(caf::actor_system& system, shared_context const& shared);

/// Takes read_remains, read_display_file, end_job_group, copy_file and remove_tree, one after the other.
caf::actor spawn_file_worker(caf::actor_system& system);

/// What a dead kernel's run directory says; whatever is missing or damaged is left out.
remains read_remains_from(std::string const& directory);

/// One payload from a kernel, read or not.
said read_frame(std::uint64_t seq, std::string_view payload);

}  // namespace holdfast::core

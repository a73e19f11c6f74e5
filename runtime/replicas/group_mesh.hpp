// Connections of a rank with all others of its group, by their doors: each task listens at its address in TF_CONFIG,
// and who has the higher rank calls.
#pragma once

#include <troupe/actors/messages/task.hpp>
#include <troupe/device/base/byte_stream.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/door/door.hpp>
#include <troupe/runtime/door/door_words.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct group_rank {
  task_id task;
  task_address address;
};

/// A port of a task that has no other one: ranks of its groups come in, and nobody else.
/// @throws unavailable_error that says why it can't be opened; permission_denied_error when it may not (credentials)
std::unique_ptr<door> open_group_door(const task_address& at, const peer_identity& self, const credentials& with);

/// As make_message_communicator takes them. `self` is the task with this rank; a group_host of it lives meanwhile. All
/// ranks call it with the same `meeting`, a name that no other connection of theirs has. Waits for all.
/// @throws deadline_exceeded_error or unavailable_error that names who is not connected within the limit
std::vector<std::unique_ptr<byte_stream>> connect_group(const std::vector<group_rank>& ranks, int rank,
                                                        const std::string& meeting, const peer_identity& self,
                                                        const credentials& with,
                                                        std::chrono::steady_clock::time_point deadline);

}  // namespace troupe

// Sockets between processes of one host and one user, which carry whole messages and open files. Private to the
// library.
//
// They live in Linux's abstract namespace: a name exists exactly as long as somebody listens on it, so nothing is left
// in any file system, whatever dies when. The kernel says who is at the other end; processes of other users are
// refused.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

namespace troupe {

using local_deadline = std::chrono::steady_clock::time_point;

struct local_message {
  std::vector<std::byte> bytes;
  descriptor file;  // if one came with it
};

/// Throws invalid_argument_error for an empty or too long name, already_exists_error if it is in use.
descriptor listen_local(const std::string& name);

/// Waits until somebody listens. Throws deadline_exceeded_error, permission_denied_error if it is another user.
descriptor connect_local(const std::string& name, local_deadline deadline);

/// The next process that has connected; none if there is none now, or it is another user's. Never blocks.
descriptor accept_local(const descriptor& listener);

/// The process at the other end.
pid_t peer_process(const descriptor& socket);

/// Returns whether the message was taken; not if the other end is closed.
bool send_message(const descriptor& socket, std::span<const std::byte> bytes, const descriptor& file = {});

/// Waits for the next message; none if the other end is closed. Throws deadline_exceeded_error.
std::optional<local_message> receive_message(const descriptor& socket, local_deadline deadline);

/// Waits until one of the sockets has something to say; false if the deadline passes.
bool wait_for_any(std::span<const int> sockets, local_deadline deadline);

}  // namespace troupe

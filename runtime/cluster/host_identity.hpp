// What processes must have in common to work together over shared memory.
//
// They meet at a socket of the kernel, pass each other a descriptor, and watch each other by process number. So the
// same machine is not enough: containers that share a host's network have process numbers of their own, and another
// user's processes must not be watched.
#pragma once

#include <string>

namespace troupe {

/// Equal for processes that can share memory: the same boot of the same machine, the same namespaces of the network and
/// of process numbers, the same user. Travels in group_candidate.
std::string host_identity();

/// What keeps processes of these identities from sharing memory, as the end of a sentence: "they are on different
/// machines". Empty if nothing does.
std::string difference_of_hosts(const std::string& one, const std::string& other);

}  // namespace troupe

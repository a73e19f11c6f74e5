// Under which address of its own this machine is reached by another one.
//
// Problem: a machine's own name is not enough. Debian's installer writes it into /etc/hosts as 127.0.1.1, which can be
// listened on and published like any other address, and which every other machine takes for itself. Solution: the
// kernel says which address it would send from.
#pragma once

#include <troupe/actors/messages/task.hpp>

#include <string>
#include <vector>

namespace troupe {

/// True for numbers of the loopback device: 127.0.0.1 and its kin, ::1.
bool is_loopback_number(const std::string& number);

/// The addresses, as numbers, that `host` has and this machine too, so that it can listen on them. Waits for the name
/// service, at most 10 s, unless `host` is a number. None if the name is unknown.
std::vector<std::string> own_numbers_of(const std::string& host);

/// The number of this machine on the way to the other one. Nothing is sent: the kernel only chooses a route. Waits as
/// above. Empty if there is no way.
std::string number_towards(const std::string& other_host);

/// An address of no machine (RFC 5737): the way there is the default route.
inline constexpr auto any_other_host = "192.0.2.1";

/// The number that other processes are given for a process whose address has this host: a ticket for large tensors
/// holds no name. That is `host` itself if it is a number; an address of that name, at best one of this machine's; or,
/// if the name is unknown here or one of loopback, this machine's number on the way to the first of `other_hosts`, or
/// on its default route. A number of loopback if all of them are on this machine. Waits as above.
std::string advertised_number(const std::string& host, const std::vector<std::string>& other_hosts = {any_other_host});

}  // namespace troupe

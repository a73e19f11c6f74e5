// Which task of a process_cluster runs on which host, how the others call it, and how all of them end.
#pragma once

#include "cluster/process_cluster.hpp"

#include <troupe/runtime/launch/host_network.hpp>

#include <map>
#include <ostream>

namespace troupe {

/// By what the tasks are known to each other.
enum class called { by_address, by_name };

/// The ways in which the tests call hosts.
struct calling {
  called how;
  hosts_file names;
};
inline constexpr std::array callings{calling{called::by_address, hosts_file::plain},
                                     calling{called::by_name, hosts_file::plain},
                                     calling{called::by_name, hosts_file::as_installed}};
inline std::ostream& operator<<(std::ostream& out, const calling& x) {
  return out << (x.how == called::by_address ? "by address" : "by name")
             << (x.names == hosts_file::plain ? "" : ", with /etc/hosts as Debian's installer writes it");
}

/// For process_cluster_options::place. Tasks that share a host have ports of their own, the same in each run: nobody
/// else is there.
placement placed(const host_network& network, std::map<task_id, int> host_of, called how = called::by_address);

/// Waits for the ends of all tasks but these, which have exit code 0; fails the test otherwise.
void require_good_ends(process_cluster& cluster, const std::vector<task_id>& but = {});

}  // namespace troupe

// Hosts on one machine, for tests and for chaos: each is a network namespace with an address, a host name, /etc/hosts
// and a loopback of its own, and a cable to one switch. Links between them are cut, silenced, reset and slowed down for
// real: the programs on them run unchanged, and meet the failures in the kernel's own TCP.
//
//   host 0 [uplink] ----- [port0]                 each host: 10.77.0.(number + 1), name host0, host1, ...
//   host 1 [uplink] ----- [port1]  switch
//   host 2 [uplink] ----- [port2]
//
// Nothing has to be cleaned up, not even after a crash: the namespaces have no names. The switch and each host are held
// by a process that sleeps and that the kernel ends with this one (child_process), and with a namespace's last process
// go its interfaces, rules, queues and mounts. A program runs on a host when it was started with `launcher(host)`.
//
// It needs root and the programs of iproute2, nftables, util-linux and mount, and for links that are slow the kernel's
// TUN devices (slow_links.hpp). Every command has a limit.
#pragma once

#include <troupe/runtime/fault_plan.hpp>
#include <troupe/runtime/launch/child_process.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

class slow_links;

/// What a host's /etc/hosts says.
enum class hosts_file {
  plain,         ///< every name by its address
  as_installed,  ///< as Debian's installer writes it: a host's own name is 127.0.1.1, the others' are their addresses
};

class host_network {
 public:
  /// Why such hosts can't be made here; nothing when they can.
  static std::optional<std::string> obstacle();
  /// Why they can be made, but no link of theirs can be slow; nothing when it can.
  static std::optional<std::string> obstacle_to_slow_links();
  /// What the block of addresses has room for.
  static constexpr int hosts_max = 250;

  /// @throws invalid_argument_error for a number of hosts that can't be, internal_error with what the commands wrote
  ///         when one of them fails
  explicit host_network(int hosts, hosts_file names = hosts_file::plain);
  host_network(const host_network&) = delete;
  host_network& operator=(const host_network&) = delete;
  ~host_network();

  static std::string address(int host);
  static std::string name(int host);
  /// What precedes a program's path so that it runs on this host, in this process's folder. The process is the
  /// program's own: its pid is, and signals reach it.
  std::vector<std::string> launcher(int host) const;

  /// An address that others may reach a host by, see `translate`.
  static std::string outer_address(int host);
  /// From now on the host behaves towards `caller` like one behind a translation of addresses (a container's service, a
  /// cloud's public address): `caller` reaches it by its outer address, which it does not know itself, and by no other.
  void translate(int caller, int host);

  // --- faults, which throw as the constructor ---

  /// Pulls the host's cable out of the switch, and puts it in again.
  void cut(int host);
  void heal(int host);
  /// Whatever `from` sends to `to` is lost without a word; what goes the other way arrives.
  void drop(int from, int to);
  void pass(int from, int to);
  /// From now on the host neither hears nor answers: connecting to it is not refused, it swallows everything. Kill what
  /// runs there afterwards, and it is as if it had been switched off.
  void switch_off(int host);
  void switch_on(int host);
  /// Ends all TCP connections of two hosts with each other by a reset, which both sides see.
  void reset(int one, int other);
  /// The TCP connections that two hosts have with each other carry nothing any more, and neither side is told, as when
  /// a firewall between them has forgotten them; new ones do. Ports that are used again within 5 min are silent, too.
  void silence(int one, int other);
  /// No more than this, in each direction: "50mbit".
  void limit(int host, std::string_view rate);
  void unlimit(int host);
  /// What `from` sends to `to` arrives later, or in smaller parts, from now on until `unslow`; what goes the other way
  /// does not. Saying it again replaces it.
  /// @throws unavailable_error where links can't be slow, invalid_argument_error for what no link can be
  void slow(int from, int to, const link_slowness& by);
  void unslow(int from, int to);

 private:
  void on_host(int host, const std::string& commands);
  void on_switch(const std::string& commands);

  child_process switch_;
  std::vector<child_process> hosts_;
  std::unique_ptr<slow_links> slow_links_;  ///< null: no link was slow yet
};

}  // namespace troupe

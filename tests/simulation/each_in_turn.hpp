// Sweeps: a run for each of the things of a kind that a cluster's hosts do, of which one goes wrong.
#pragma once

#include <troupe/runtime/simulation.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>

namespace troupe {

/// Calls `run(host, nth)` for each host of the cluster, with 1, 2, and so on, until it says that there was no n-th.
/// Fails the test if a host does not have that many of them.
template <class Run>
void each_in_turn(const local_cluster& size, std::uint64_t least, Run run) {
  auto hosts = member_hosts(size);
  hosts.push_back("chief-0");
  for (const auto& host : hosts) {
    std::uint64_t nth = 1;
    while (run(host, nth)) ++nth;
    BOOST_TEST_MESSAGE(host << ": " << nth - 1);
    BOOST_TEST(nth > least, host << " has only " << nth - 1);
  }
}

}  // namespace troupe

// A whole cluster inside the test's process, in an actor system that the test owns. Variables are on the device that
// the test runs on (test_devices.hpp).
#pragma once

#include "support/test_devices.hpp"

#include <troupe/runtime/actors.hpp>
#include <troupe/runtime/system_config.hpp>
#include <troupe/troupe.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe {

struct local_world {
  explicit local_world(local_cluster size = {}, cluster_options options = {}) : members(system, size, options) {
    members.wait_until_ready();
  }

  system_config config{false};
  caf::actor_system system{config};
  cluster members;
  parameter_server_strategy strategy{members, {.server_device = test_device()}};
  cluster_coordinator coordinator{strategy};
};

/// Whether the error's text has this part; prints the text if not.
inline bool says(const error& thrown, std::string_view part) {
  const std::string text = thrown.what();
  if (text.find(part) != std::string::npos) return true;
  BOOST_TEST_MESSAGE("the error says: " << text);
  return false;
}

}  // namespace troupe

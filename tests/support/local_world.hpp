// A whole cluster inside the test's process, in an actor system that the test owns.
#pragma once

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
  parameter_server_strategy strategy{members};
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

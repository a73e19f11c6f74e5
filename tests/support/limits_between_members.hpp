// What cannot pass between the members of a cluster, and how it fails: the same inside one process that encodes, and
// between processes.
#pragma once

#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace troupe {

/// Can't be encoded when its number is 13.
struct unlucky {
  int number = 0;
  template <class Archive>
  void save(Archive& archive) const {
    if (number == 13) throw std::domain_error{"13 brings bad luck"};
    archive(number);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(number);
  }
};

/// More than message_bytes_max.
inline std::string too_long(int extra) { return std::string((std::size_t{64} << 20) + extra, 'x'); }

/// What each of these calls ends with, as text; `coordinator` has one worker.
inline std::vector<std::string> failures_between_members(cluster_coordinator& coordinator) {
  std::vector<std::string> all;
  const auto add = [&](const auto& result) {
    try {
      result.fetch();
      all.push_back("nothing failed");
    } catch (...) {
      all.push_back(status_of(std::current_exception()).render());
    }
    try {
      coordinator.join();
    } catch (...) {
      // The same once more.
    }
  };
  add(coordinator.schedule([](int extra) { return too_long(extra); }, 1));
  add(coordinator.schedule([](const std::string& text) { return text.size(); }, too_long(1)));
  add(coordinator.schedule([](const unlucky& x) { return x.number; }, unlucky{13}));
  add(coordinator.schedule([](int x) { return unlucky{x}; }, 13));
  const auto passes = coordinator.schedule([](int x) { return unlucky{x}; }, 12);
  add(passes);
  add(coordinator.schedule([](const unlucky& x) { return x.number; }, passes));
  return all;
}

}  // namespace troupe

#include "placement.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <iterator>

namespace troupe {

placement placed(const host_network& network, std::map<task_id, int> host_of, called how) {
  return [&network, host_of = std::move(host_of), how](const task_id& task) {
    constexpr std::uint16_t first_port = 7000;
    const auto found = host_of.find(task);
    BOOST_REQUIRE_MESSAGE(found != host_of.end(), to_string(task) << " has no host");
    const auto number = static_cast<std::uint16_t>(std::distance(host_of.begin(), found));
    const auto host = found->second;
    auto name = how == called::by_address ? host_network::address(host) : host_network::name(host);
    return task_place{{std::move(name), static_cast<std::uint16_t>(first_port + number)}, network.launcher(host)};
  };
}

void require_good_ends(process_cluster& cluster, const std::vector<task_id>& but) {
  constexpr std::chrono::seconds limit{20};
  for (const auto& task : cluster.tasks()) {
    if (std::find(but.begin(), but.end(), task) != but.end()) continue;
    const auto ended = cluster.end_of(task, limit);
    BOOST_TEST(ended.success(), to_string(task) << ": " << to_string(ended) << "; the processes wrote:\n"
                                                << cluster.output());
  }
}

}  // namespace troupe

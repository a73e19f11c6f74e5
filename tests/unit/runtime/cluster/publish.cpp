#include <troupe/runtime/cluster/publish.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <filesystem>
#include <iterator>

BOOST_AUTO_TEST_SUITE(publish_suite)

using namespace troupe;

namespace {

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"}, std::filesystem::directory_iterator{});
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_port_that_is_closed_as_soon_as_it_is_open_is_free_again) {
  caf::actor_system_config config;
  config.load<caf::io::middleman>();
  caf::actor_system system{config};
  const auto whom = system.spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; });
  const auto before = open_descriptors();
  for (auto i = 0; i < 1000; ++i) unpublish(system, whom, publish(system, whom, {"127.0.0.1", 0}, "a test"));
  BOOST_TEST(open_descriptors() == before);
  caf::anon_send_exit(whom, caf::exit_reason::user_shutdown);
}

BOOST_AUTO_TEST_SUITE_END()

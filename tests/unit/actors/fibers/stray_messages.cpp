#include "support/virtual_system.hpp"

#include <troupe/actors/fibers/stray_messages.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/sec.hpp>

#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(stray_messages_suite)

namespace {

/// Counts the numbers that it gets.
caf::behavior counting(caf::event_based_actor* self, int* count) {
  tolerate_stray_messages(self);
  return {[count](int) { return ++*count; }};
}

/// What has come back to who sent texts, which are strays, and then an error.
caf::behavior stranger(caf::event_based_actor* self, const caf::actor& to, int* answers) {
  self->set_default_handler([answers](caf::scheduled_actor*, caf::message_view&) -> caf::result<caf::message> {
    ++*answers;
    return caf::message{};
  });
  self->set_error_handler([answers](caf::error&) { ++*answers; });
  self->send(to, std::string{"whatever"});
  self->send(to, caf::make_error(caf::sec::runtime_error));
  return {[](int) {}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_actor_outlives_what_it_does_not_understand) {
  virtual_system world;
  auto count = 0;
  auto answers = 0;
  const auto counter = world.spawn(counting, &count);
  world.spawn(stranger, counter, &answers);
  caf::anon_send(counter, caf::make_error(caf::sec::runtime_error));
  caf::anon_send(counter, std::string{"whatever"});
  world.run();
  caf::anon_send(counter, 1);
  world.run();
  BOOST_TEST(count == 1);
  // Else two that don't understand each other would go on for ever.
  BOOST_TEST(answers == 0);
}

BOOST_AUTO_TEST_CASE(a_request_that_is_not_understood_is_answered_with_an_error) {
  virtual_system world;
  auto count = 0;
  const auto counter = world.spawn(counting, &count);
  caf::error heard;
  world.spawn([&](caf::event_based_actor* self) -> caf::behavior {
    self->request(counter, caf::infinite, std::string{"whatever"}).then([] {}, [&](caf::error& why) { heard = why; });
    return {[](int) {}};
  });
  world.run();
  BOOST_TEST((heard == caf::sec::unexpected_message));
}

BOOST_AUTO_TEST_CASE(the_log_is_told_how_many_once_a_minute_and_never_what_they_say) {
  static std::vector<std::string> lines;
  lines.clear();
  const auto before = log_stray_messages_by([](std::string_view line) { lines.emplace_back(line); });
  {
    virtual_system world;
    auto count = 0;
    const auto counter = world.spawn(counting, &count);
    const auto send = [&](int strays) {
      for (auto i = 0; i < strays; ++i) caf::anon_send(counter, std::string{"secret"});
      world.run();
    };
    send(3);
    BOOST_TEST(lines.size() == 1u);
    world.advance(59s);
    send(2);
    BOOST_TEST(lines.size() == 1u);
    world.advance(1s);
    send(1);
  }
  log_stray_messages_by(before);
  BOOST_TEST_REQUIRE(lines.size() == 2u);
  BOOST_TEST(lines[0].find("has dropped a message that it does not understand; the last came from nobody") !=
             std::string::npos);
  BOOST_TEST(lines[1].find("has dropped 5 messages that it") != std::string::npos, lines[1]);
  for (const auto& line : lines) BOOST_TEST(line.find("secret") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

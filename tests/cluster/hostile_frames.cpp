// Strangers that speak CAF's protocol and say what no actor system would say. No frame may end a process, make it take
// memory for what does not come, or hold a connection for ever; and the job goes on meanwhile.
#include "attacked_job.hpp"
#include "basp_stranger.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/config_value.hpp>
#include <caf/error.hpp>
#include <caf/sec.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::basp {

BOOST_AUTO_TEST_SUITE(hostile_frames_suite)

namespace {

using namespace std::chrono_literals;

/// Actors whose handles a process has given away have small numbers.
constexpr caf::actor_id actors_max = 64;
/// A stream message whose content says nothing.
const std::string nothing(2, '\0');

/// Once without a client's handshake and once with it.
const std::array<bool, 2> handshakes{false, true};

/// Whoever greets learns it.
greeting greeting_at(const task_address& where, std::mt19937& random) {
  const auto heard = stranger{where}.greet(made_up_node(random));
  BOOST_REQUIRE(heard.has_value());
  return *heard;
}

// --- stream messages ------------------------------------------------------------------------------------------------

header to_actor(message_type kind, std::uint64_t operation_data, caf::actor_id actor) {
  return {kind, 0, 0, operation_data, 0, actor};
}

/// By the door, and with or without the handshake behind it.
void come_in(stranger& visitor, bool with_handshake, std::mt19937& random) {
  if (with_handshake)
    visitor.greet(made_up_node(random));
  else
    visitor.enter(made_up_node(random));
}

/// Each on a connection of its own: whoever refuses one closes.
void say_alone(const task_address& where, bool with_handshake, std::mt19937& random, const std::string& words) {
  stranger visitor{where};
  come_in(visitor, with_handshake, random);
  visitor.say(words);
  BOOST_TEST(visitor.end());
}

/// Bits of a message's id, below and beside its category.
const std::array<std::uint64_t, 3> identities{0, 7, std::uint64_t{1} << 63 | 7};

BOOST_DATA_TEST_CASE(stream_messages_end_nobody, handshakes, with_handshake) {
  attacked_job job;
  std::mt19937 random{1};
  for (const auto& port : job.ports()) {
    const auto known = greeting_at(port.address, random);
    for (const auto category : {upstream, downstream})
      for (const auto identity : identities) {
        say_alone(port.address, with_handshake, random,
                  frame(to_actor(message_type::direct_message, category | identity, known.door), nothing));
        say_alone(port.address, with_handshake, random,
                  frame(to_actor(message_type::routed_message, category | identity, known.door),
                        route(made_up_node(random), known.node) + nothing));
      }
  }
  job.check_goes_on("stream messages");
  job.check_end();
}

/// A member passes on what is for a process that it knows, which may listen nowhere.
BOOST_DATA_TEST_CASE(stream_messages_that_others_pass_on_end_nobody, handshakes, with_handshake) {
  attacked_job job;
  std::mt19937 random{2};
  for (const auto& port : job.ports()) {
    const auto known = greeting_at(port.address, random);
    for (const auto& other : job.processes().tasks()) {
      const auto process = static_cast<std::uint32_t>(job.processes().pid(other));
      for (caf::actor_id actor = 1; actor <= actors_max; ++actor)
        say_alone(port.address, with_handshake, random,
                  frame(to_actor(message_type::routed_message, actor % 2 == 0 ? upstream : downstream, actor),
                        route(made_up_node(random), neighbour_of(known.node, process)) + nothing));
    }
  }
  job.check_goes_on("routed stream messages");
  job.check_end();
}

// --- random frames --------------------------------------------------------------------------------------------------

constexpr int strangers_per_port = 400;
constexpr int frames_per_stranger = 8;

/// One of the small, the large and the telling numbers.
std::uint64_t number(std::mt19937& random) {
  switch (random() % 4) {
    case 0:
      return 0;
    case 1:
      return random() % actors_max;
    case 2:
      return static_cast<std::uint64_t>(random() % 16) << 60 | random() % 16;
    default:
      return static_cast<std::uint64_t>(random()) << 32 | random();
  }
}

/// Half of the contents begin with a route that is one.
std::string random_frame(std::mt19937& random, const greeting& heard) {
  auto content = noise(random, random() % 100);
  if (random() % 2 == 0) content = route(made_up_node(random), heard.node) + content;
  header about{static_cast<message_type>(random() % 8),
               static_cast<std::uint8_t>(random() % 2 == 0 ? 0 : random() % 256),
               0,
               number(random),
               number(random) % actors_max,
               random() % 2 == 0 ? heard.door : number(random)};
  return frame(about, content);
}

BOOST_AUTO_TEST_CASE(thousands_of_random_frames_end_nobody) {
  attacked_job job;
  memory_watch memory{job};
  std::mt19937 random{3};
  for (const auto& port : job.ports()) {
    const auto known = greeting_at(port.address, random);
    for (int i = 0; i < strangers_per_port; ++i) {
      stranger visitor{port.address};
      come_in(visitor, random() % 4 != 0, random);
      for (int frame = 0; frame < frames_per_stranger && visitor.say(random_frame(random, known)); ++frame) {
      }
      BOOST_TEST(visitor.end());
    }
  }
  memory.check(1.2, 32 << 20);
  job.check_goes_on("random frames");
  job.check_end();
}

// --- what is announced and does not come ----------------------------------------------------------------------------

constexpr int announcements = 4;
constexpr std::uint32_t mebibyte = 1 << 20;
/// No process takes this much at once from a member of its cluster.
constexpr std::uint32_t far_too_much = 512 * mebibyte;
/// What a member may send, but nobody who has not said who it is.
constexpr std::uint32_t large = 64 * mebibyte;
/// Who announces too much is closed at once.
constexpr auto refusal_max = 5s;
/// A frame that has begun must go on within 30 s.
constexpr auto half_frame_max = 60s;

struct announced {
  std::uint32_t size_bytes;
  bool with_handshake;

  bool is_refused() const { return size_bytes == far_too_much || !with_handshake; }
};

std::ostream& operator<<(std::ostream& to, const announced& what) {
  return to << what.size_bytes / mebibyte << " MiB " << (what.with_handshake ? "after a handshake" : "at once");
}

const std::array<announced, 4> all_announced{
    {{far_too_much, false}, {far_too_much, true}, {large, false}, {large, true}}};

/// Whoever has servers of remote procedures takes requests of other programs, which may be larger.
bool may_be_wanted(const attacked_port& port, const announced& what) {
  return port.task == chief_task && what.with_handshake;
}

std::vector<stranger> announce(const attacked_port& port, const announced& what, std::mt19937& random) {
  std::vector<stranger> strangers;
  for (int i = 0; i < announcements; ++i) {
    strangers.emplace_back(port.address);
    come_in(strangers.back(), what.with_handshake, random);
    strangers.back().say(announcement(message_type::direct_message, what.size_bytes));
  }
  return strangers;
}

/// One port after the other, so that a failing test takes no more than one process can waste.
BOOST_DATA_TEST_CASE(nobody_makes_room_for_what_is_only_announced, all_announced, what) {
  attacked_job job;
  memory_watch memory{job};
  std::mt19937 random{4};
  std::vector<stranger> waiting;
  for (const auto& port : job.ports()) {
    if (may_be_wanted(port, what)) continue;
    auto strangers = announce(port, what, random);
    memory.look_for(job, 1s);
    if (what.is_refused())
      BOOST_TEST(open_after(strangers, refusal_max) == 0u, to_string(port.task) << " waits for what is announced");
    else
      std::move(strangers.begin(), strangers.end(), std::back_inserter(waiting));
  }
  BOOST_TEST(open_after(waiting, half_frame_max) == 0u);
  memory.check(1.2, 16 << 20);
  job.check_goes_on("announcements");
  job.check_end();
}

// --- who says nothing -----------------------------------------------------------------------------------------------

/// In all, and as many that say half of something.
constexpr std::size_t silent_strangers = 300;
/// First words must come within 5 s, and a message that has begun must go on within 30 s.
constexpr auto silence_max = 50s;
/// To an actor of the application: nobody has this number.
constexpr caf::actor_id nobody = std::uint64_t{1} << 40;
constexpr std::size_t half_messages = 20;

/// Half a header; a whole handshake but for its last byte; a header, and half of what it announces.
std::string half_words(std::mt19937& random) {
  const auto handshake = client_handshake(made_up_node(random));
  switch (random() % 3) {
    case 0:
      return handshake.substr(0, header_bytes / 2);
    case 1:
      return handshake.substr(0, handshake.size() - 1);
    default:
      return announcement(message_type::direct_message, 1'000) + noise(random, 500);
  }
}

BOOST_AUTO_TEST_CASE(who_says_nothing_or_half_of_it_is_closed) {
  attacked_job job;
  std::mt19937 random{5};
  std::vector<stranger> strangers;
  for (std::size_t i = 0; i < silent_strangers; ++i) {
    const auto& where = job.ports()[i % job.ports().size()].address;
    strangers.emplace_back(where);
    if (i % 3 == 0) strangers.back().enter(made_up_node(random));
    strangers.emplace_back(where);
    if (i % 2 == 0) strangers.back().enter(made_up_node(random));
    strangers.back().say(half_words(random));
  }
  std::vector<stranger> half_heard;
  for (std::size_t i = 0; i < half_messages; ++i) {
    auto& visitor = half_heard.emplace_back(job.ports()[i % job.ports().size()].address);
    BOOST_TEST(visitor.greet(made_up_node(random)).has_value());
    auto begun = to_actor(message_type::direct_message, ordinary, nobody);
    // Also one that comes in pieces, of which some have come.
    begun.payload_len = i % 2 == 0 ? 1'000 : 4 * mebibyte;
    visitor.say(bytes_of(begun) + noise(random, begun.payload_len / 2));
  }
  job.check_goes_on("silent strangers");
  BOOST_TEST(open_after(half_heard, silence_max) == 0u);
  BOOST_TEST(open_after(strangers, silence_max) == 0u);
  job.check_goes_on("silent strangers that are gone");
  job.check_end();
}

// --- who says he is somebody else -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(nobody_connects_in_the_name_of_the_process_that_listens) {
  attacked_job job;
  std::mt19937 random{6};
  for (const auto& port : job.ports()) {
    const auto known = greeting_at(port.address, random);
    BOOST_TEST(!stranger{port.address}.greet(known.node).has_value(), to_string(port.task));
  }
  job.check_goes_on("strangers in the names of members");
  job.check_end();
}

/// A value of CAF's own in an error, of a kind that there is not: CAF throws where nothing catches.
std::string error_that_can_not_be_read() {
  caf::actor_system_config config;
  caf::actor_system system{config};
  auto content = content_of(system, caf::make_message(caf::make_error(caf::sec::runtime_error, caf::config_value{1})));
  constexpr std::string_view type = "@config_value";
  const auto value = content.rfind(type);
  BOOST_REQUIRE(value != std::string::npos);
  return content.replace(value + type.size(), std::string::npos, 64, '\xff');
}

BOOST_AUTO_TEST_CASE(what_caf_can_not_read_ends_nobody) {
  attacked_job job;
  std::mt19937 random{9};
  const auto content = error_that_can_not_be_read();
  for (const auto& port : job.ports()) {
    const auto known = greeting_at(port.address, random);
    for (const auto identity : identities)
      say_alone(port.address, true, random,
                frame(to_actor(message_type::direct_message, ordinary | identity, known.door), content));
  }
  job.check_goes_on("errors that can't be read");
  job.check_end();
}

BOOST_AUTO_TEST_CASE(who_gives_another_name_behind_the_door_is_closed) {
  attacked_job job;
  std::mt19937 random{8};
  for (const auto& port : job.ports()) {
    std::vector<stranger> visitors;
    visitors.emplace_back(port.address);
    BOOST_TEST(visitors.back().enter(made_up_node(random)));
    visitors.back().say(client_handshake(made_up_node(random)));
    BOOST_TEST(open_after(visitors, refusal_max) == 0u, to_string(port.task) << " hears another than was at the door");
  }
  job.check_goes_on("strangers with two names");
  job.check_end();
}

// --- who reads nothing ----------------------------------------------------------------------------------------------

/// Watching an actor that has ended is answered, with more bytes than it takes to ask.
BOOST_AUTO_TEST_CASE(who_asks_without_end_and_reads_no_answers_is_closed) {
  constexpr std::size_t said_max = 512 << 20;
  attacked_job job;
  memory_watch memory{job};
  std::mt19937 random{7};
  const auto& port = job.port_of(server_task(0));
  stranger visitor{port.address};
  const auto own = made_up_node(random);
  const auto heard = visitor.greet(own);
  BOOST_REQUIRE(heard.has_value());
  std::string questions;
  for (auto i = 0; i < 1'000; ++i)
    questions += frame(to_actor(message_type::monitor_message, 0, nobody), route(own, heard->node));
  std::size_t said = 0;
  for (; said < said_max && visitor.say_and_hear_nothing(questions); said += questions.size()) memory.look();
  BOOST_TEST(!visitor.is_open());
  job.processes().wait_for("more answers than it reads");
  // What may lie unread, and the growth of its buffer.
  memory.check(1.2, 64 << 20);
  job.check_goes_on("questions whose answers nobody reads");
  job.check_end();
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::basp

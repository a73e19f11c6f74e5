// Strangers that have heard what a chief and workers say to members, and say it again: exactly, in another order, half
// of it, and with some of its bytes and headers changed. The job goes on, and each addition comes once.
#include "attacked_job.hpp"
#include "basp_stranger.hpp"
#include "loopback_port.hpp"
#include "recorded_job.hpp"

#include <troupe/runtime/door/door_words.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe::basp {

BOOST_AUTO_TEST_SUITE(hostile_sessions_suite)

namespace {

using namespace std::chrono_literals;

// --- saying it again ------------------------------------------------------------------------------------------------

using random_source = std::mt19937;
/// Makes something else of what was said.
using mutation = std::string (*)(const std::string& said, random_source& random);

std::string joined(const std::vector<std::string>& frames) {
  std::string all;
  for (const auto& each : frames) all += each;
  return all;
}

std::string exactly(const std::string& said, random_source&) { return said; }

std::string truncated(const std::string& said, random_source& random) { return said.substr(0, random() % said.size()); }

/// The first is the handshake.
std::string shuffled(const std::string& said, random_source& random) {
  auto frames = frames_of(said);
  if (!frames.empty()) std::shuffle(frames.begin() + 1, frames.end(), random);
  return joined(frames);
}

/// Of the contents, so that most frames are read.
std::string with_other_bytes(const std::string& said, random_source& random) {
  constexpr auto one_in = 200;
  auto frames = frames_of(said);
  for (std::size_t i = 1; i < frames.size(); ++i)
    for (auto at = header_bytes; at < frames[i].size(); ++at)
      if (random() % one_in == 0) frames[i][at] = static_cast<char>(random());
  return joined(frames);
}

std::string with_other_headers(const std::string& said, random_source& random) {
  constexpr auto one_in = 4;
  auto frames = frames_of(said);
  for (std::size_t i = 1; i < frames.size(); ++i)
    if (random() % one_in == 0) frames[i][random() % header_bytes] = static_cast<char>(random());
  return joined(frames);
}

struct named_mutation {
  const char* name;
  mutation change;
};

constexpr std::array<named_mutation, 5> mutations{{{"exactly", exactly},
                                                   {"truncated", truncated},
                                                   {"shuffled", shuffled},
                                                   {"with other headers", with_other_headers},
                                                   {"with other bytes", with_other_bytes}}};
/// But for the last: a member's words about a living variable, changed, may be those of another client, which can
/// write.
constexpr std::span<const named_mutation> unchanged_contents{mutations.data(), mutations.size() - 1};

/// Of each mutation, to each member.
constexpr int replays = 40;

/// What was said to members, connection by connection.
using all_that_was_heard = std::vector<std::pair<task_id, std::vector<std::string>>>;

/// Says to each member what was said to it. Every second one of those who do may stay connected.
void replay(attacked_job& job, const all_that_was_heard& all_heard, std::span<const named_mutation> changes) {
  random_source random{20240609};
  memory_watch memory{job};
  std::vector<stranger> staying;
  for (const auto& [name, change] : changes) {
    for (int i = 0; i < replays; ++i)
      for (const auto& [member, heard] : all_heard) {
        const auto& said = heard[static_cast<std::size_t>(i / 2) % heard.size()];
        stranger visitor{job.port_of(member).address};
        visitor.enter(greeter_in(said));
        visitor.say(change(said, random));
        if (i % 2 == 0)
          staying.push_back(std::move(visitor));
        else
          BOOST_TEST(visitor.end());
        memory.look();
      }
    job.check_goes_on(name);
  }
  memory.check(1.2, 32 << 20);
}

all_that_was_heard heard_in(const recorded_job& recorded) {
  all_that_was_heard all;
  for (const auto& member : {worker_task(0), server_task(0)}) {
    all.emplace_back(member, recorded.heard_by(member));
    BOOST_REQUIRE(!all.back().second.empty());
    BOOST_TEST_MESSAGE(to_string(member) << " has heard " << all.back().second.size() << " connections, the first "
                                         << all.back().second.front().size() << " bytes");
  }
  return all;
}

BOOST_AUTO_TEST_CASE(what_an_earlier_job_has_said_does_not_disturb_the_next) {
  all_that_was_heard all;
  {
    recorded_job earlier;
    all = heard_in(earlier);
    earlier.job().check_end();
  }
  attacked_job job;
  replay(job, all, mutations);
  job.check_end();
}

/// The same words from a process that does not pose as the one that has said them: nothing tells the two apart who say
/// the same of themselves.
all_that_was_heard said_by_another(all_that_was_heard all) {
  random_source random{20240610};
  for (auto& [_, connections] : all)
    for (auto& said : connections) {
      auto frames = frames_of(said);
      std::erase_if(frames, [](const auto& each) { return is_handshake(header_of(each)); });
      said = client_handshake(made_up_node(random)) + joined(frames);
    }
  return all;
}

BOOST_AUTO_TEST_CASE(what_a_job_has_said_itself_does_not_disturb_it_when_another_says_it_again) {
  recorded_job recorded;
  replay(recorded.job(), said_by_another(heard_in(recorded)), unchanged_contents);
  recorded.job().check_end();
}

/// Whether who says these words gets in; he hears all that is said to him.
bool is_let_in(const task_address& where, const std::string& words) {
  const auto visitor = connect_to_loopback(where.port);
  write_to(visitor, words);
  std::string heard;
  for (auto more = read_from(visitor, {}); !more.empty(); more = read_from(visitor, {})) heard += more;
  for (std::string_view rest = heard; rest.size() >= words_head_bytes;) {
    const auto head = read_head(rest.substr(0, words_head_bytes));
    if (!head) return true;  // somebody speaks to him behind the door
    if (head->kind == word_kind::welcome) return true;
    rest.remove_prefix(std::min(rest.size(), words_head_bytes + head->content_bytes));
  }
  return false;
}

BOOST_AUTO_TEST_CASE(what_was_said_at_a_door_with_a_secret_opens_it_to_nobody_again) {
  recorded_job recorded{attacked_job::security::secret};
  auto replayed = 0;
  for (const auto& each : recorded.recorders())
    for (const auto& words : each->heard_with_the_door()) {
      if (words.empty()) continue;
      ++replayed;
      BOOST_TEST(!is_let_in(recorded.job().port_of(each->member()).address, words));
    }
  BOOST_TEST(replayed > 0);
  recorded.job().check_goes_on("words at doors");
  recorded.job().check_end();
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::basp

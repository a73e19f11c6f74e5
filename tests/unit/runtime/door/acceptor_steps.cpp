// What computes for long while a connection is pending leaves the other connections of the thread their turn.
#include "door_test.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <semaphore>

using namespace door_test;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(acceptor_steps_suite)

namespace {

/// What happened in the thread of all acceptors, a letter each.
struct happenings {
  std::counting_semaphore<> reached{0};
  std::counting_semaphore<> go_on{0};
  mutable std::mutex mutex;
  std::string letters;

  std::size_t add(char letter) {
    const std::scoped_lock lock{mutex};
    letters += letter;
    return letters.size();
  }
  std::string all() const {
    const std::scoped_lock lock{mutex};
    return letters;
  }
};

/// Is costly until it has heard something. The first two wait for the test.
class costly_reception final : public reception {
 public:
  explicit costly_reception(happenings& into) : into_(into) {}

  finding hear(int socket) override {
    std::array<char, 16> heard{};
    if (::recv(socket, heard.data(), heard.size(), MSG_DONTWAIT) <= 0) return finding::undecided;
    if (into_.add('c') <= 2) {
      into_.reached.release();
      static_cast<void>(into_.go_on.try_acquire_for(patience));
    }
    return finding::wrong;
  }
  bool is_costly() const override { return true; }
  bool has_begun() const override { return false; }
  std::string reason() const override { return "a test"; }
  void welcome(descriptor) override {}

 private:
  happenings& into_;
};

}  // namespace

//
BOOST_AUTO_TEST_CASE(costly_steps_leave_others_their_turn_and_all_have_theirs) {
  happenings seen;
  const acceptor computing{"127.0.0.1", 0, [&] { return std::make_unique<costly_reception>(seen); }};
  const host other{{}, [&](std::span<const std::byte> peeked) {
                     seen.add('o');
                     return judge_greeting(peeked);
                   }};
  constexpr std::size_t count = 40;
  std::vector<visitor> pending(count);
  pending.front().visit(computing.port());
  pending.front().say("x");
  BOOST_REQUIRE(seen.reached.try_acquire_for(patience));
  // All of them are accepted in one round, and in the next one all have something to say.
  for (std::size_t i = 1; i < count; ++i) {
    pending[i].visit(computing.port());
    pending[i].say("x");
  }
  seen.go_on.release();
  BOOST_REQUIRE(seen.reached.try_acquire_for(patience));
  const visitor in_between{other, greeting};
  seen.go_on.release();
  BOOST_REQUIRE(comes_true([&] { return seen.all().size() == count + 1; }));
  // The rest of the round of the first of them, and the steps with which the next round begins.
  BOOST_TEST(seen.all().find('o') <= 1u + 2 * 8u, seen.all());
}

BOOST_AUTO_TEST_CASE(nothing_is_heard_after_the_end_though_steps_are_due) {
  for (auto round = 0; round < 50; ++round) {
    happenings seen;
    seen.go_on.release();
    auto computing = std::make_unique<acceptor>("127.0.0.1", std::uint16_t{0},
                                                [&] { return std::make_unique<costly_reception>(seen); });
    std::vector<visitor> pending(30);
    for (auto& each : pending) {
      each.visit(computing->port());
      each.say("x");
    }
    BOOST_REQUIRE(seen.reached.try_acquire_for(patience));
    seen.go_on.release();
    computing.reset();
    // What it hears with is gone from here on (ASan would say so).
  }
}

BOOST_AUTO_TEST_SUITE_END()

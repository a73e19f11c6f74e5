// How a parameter server makes, finds and deletes shards, and whom it refuses.
#include "support/effort.hpp"
#include "support/held_transport.hpp"
#include "support/virtual_system.hpp"

#include <troupe/actors/fibers/requests.hpp>
#include <troupe/actors/variables/parameter_server.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/weak_intrusive_ptr.hpp>

#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(parameter_server_suite)

namespace {

constexpr std::uint64_t life = 7;
constexpr std::uint64_t other_life = 8;

struct asker {
  explicit asker(caf::event_based_actor* self) : clock(self), open(self, clock) {}
  timers clock;
  requests open;
};

/// How a request ended; nothing before.
using ending = std::optional<status>;

struct server_room : virtual_system {
  explicit server_room(const parameter_server_options& options = {}) {
    handle = spawn(parameter_server, life, options);
    run();
  }

  template <class... Ts>
  std::shared_ptr<ending> change(const Ts&... request) {
    auto result = std::make_shared<ending>();
    actor.act([&] {
      actor->open.ask(
          handle, 1h, "a change", [result](caf::ok_atom) { *result = status{}; },
          [result](const status& why) { *result = why; }, Ts{request}...);
    });
    return result;
  }
  std::shared_ptr<ending> create(const std::vector<std::uint64_t>& numbers, std::uint64_t meant = life,
                                 const tensor& initial = tensor::scalar(1.0f)) {
    shard_orders orders;
    for (const auto number : numbers) orders.orders.push_back({number, "w", initial, {}, 0});
    return change(create_atom_v, meant, from_elsewhere(std::move(orders)));
  }
  std::shared_ptr<ending> release(const shard_numbers& numbers, std::uint64_t meant = life) {
    return change(release_atom_v, meant, wire<shard_numbers>{numbers});
  }
  shard_actor find(std::uint64_t number, std::uint64_t meant = life) {
    shard_actor found;
    actor.act([&] {
      actor->open.ask(
          handle, 1h, "a search", [&](shard_actor& answer) { found = answer; },
          [this](const status& why) { problem = why; }, find_atom_v, std::uint64_t{meant}, std::uint64_t{number});
    });
    return found;
  }

  installed_transport transport;
  parameter_server_actor handle;
  status problem;
  simulated_actor<asker> actor{*this};
};

struct small_room : server_room {
  small_room() : server_room({.shards_max = 3}) {}
};

status_code code_of(const std::shared_ptr<ending>& request) {
  BOOST_TEST_REQUIRE(request->has_value());
  return (*request)->code();
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(many_shards_are_made_by_one_message_and_found_by_their_numbers, server_room) {
  BOOST_TEST((code_of(create({4, 9})) == status_code::ok));
  BOOST_TEST(static_cast<bool>(find(4)));
  BOOST_TEST(static_cast<bool>(find(9)));
  BOOST_TEST((find(4) != find(9)));
  BOOST_TEST(!find(5));
  BOOST_TEST((problem.code() == status_code::not_found));
}

// M-2
BOOST_FIXTURE_TEST_CASE(what_is_meant_for_another_life_of_the_server_is_refused, server_room) {
  create({1});
  BOOST_TEST((code_of(create({2}, other_life)) == status_code::unavailable));
  BOOST_TEST((code_of(release({1}, other_life)) == status_code::unavailable));
  BOOST_TEST(!find(1, other_life));
  BOOST_TEST((problem.code() == status_code::unavailable));
  BOOST_TEST(static_cast<bool>(find(1)));
  BOOST_TEST(!find(2));
}

BOOST_FIXTURE_TEST_CASE(a_shard_that_is_deleted_ends_and_its_server_does_not, server_room) {
  create({1, 2});
  auto observed = caf::actor_cast<caf::weak_actor_ptr>(find(1));
  BOOST_TEST((code_of(release({1, 77})) == status_code::ok));
  BOOST_TEST(!find(1));
  BOOST_TEST(static_cast<bool>(find(2)));
  BOOST_TEST(!observed.lock());
}

BOOST_FIXTURE_TEST_CASE(a_shard_on_a_device_that_is_not_there_is_refused_and_the_server_goes_on, server_room) {
  for (const auto* const device : {"GPU:63", "nonsense"}) {
    shard_orders orders;
    orders.orders.push_back({.shard = 1, .name = "w", .initial = tensor::scalar(1.0f), .device = device});
    const auto refused = change(create_atom_v, std::uint64_t{life}, from_elsewhere(std::move(orders)));
    BOOST_TEST((code_of(refused) != status_code::ok));
    const auto text = (*refused)->render();
    BOOST_TEST(text.find(std::string{"variable \"w\" on "} + device + " of its server") != std::string::npos, text);
  }
  BOOST_TEST((code_of(create({1})) == status_code::ok));
}

// Its values may have changed since.
BOOST_FIXTURE_TEST_CASE(a_creation_that_comes_again_leaves_the_shard_as_it_is, server_room) {
  create({1});
  const auto before = find(1);
  BOOST_TEST((code_of(create({1, 2})) == status_code::ok));
  BOOST_TEST((find(1) == before));
  BOOST_TEST(static_cast<bool>(find(2)));
}

BOOST_FIXTURE_TEST_CASE(a_deletion_does_not_overtake_the_creation_whose_tensors_are_late, server_room) {
  const auto made = create({1}, life, large_tensor());
  const auto deleted = release({1});
  BOOST_TEST(!made->has_value());
  BOOST_TEST(!deleted->has_value());
  transport->complete(0);
  run();
  BOOST_TEST((code_of(made) == status_code::ok));
  BOOST_TEST((code_of(deleted) == status_code::ok));
  BOOST_TEST(!find(1));
}

BOOST_FIXTURE_TEST_CASE(more_shards_than_it_may_hold_are_refused_together_and_deleted_ones_give_room, small_room) {
  create({1, 2});
  BOOST_TEST((code_of(create({3, 4})) == status_code::resource_exhausted));
  BOOST_TEST(!find(3));
  BOOST_TEST((code_of(create({1, 3})) == status_code::ok));
  release({1, 2});
  BOOST_TEST((code_of(create({5, 6})) == status_code::ok));
}

BOOST_FIXTURE_TEST_CASE(a_shard_that_fails_ends_its_server_and_so_all_shards, server_room) {
  create({1, 2});
  const auto failing = find(1);
  const auto other = caf::actor_cast<caf::weak_actor_ptr>(find(2));
  caf::anon_send_exit(failing, caf::exit_reason::kill);
  run();
  BOOST_TEST(!find(2));
  BOOST_TEST((problem.code() != status_code::ok && problem.code() != status_code::not_found), problem.render());
  BOOST_TEST((other.lock() == nullptr));
}

BOOST_FIXTURE_TEST_CASE(shards_end_with_their_server, server_room) {
  create({1});
  const auto observed = caf::actor_cast<caf::weak_actor_ptr>(find(1));
  BOOST_TEST((observed.lock() != nullptr));
  caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
  run();
  BOOST_TEST((observed.lock() == nullptr));
}

// A restore replaces all shards of a model.
BOOST_FIXTURE_TEST_CASE(many_shards_come_and_go_at_a_cost_in_proportion, server_room) {
  const auto come_and_go = [this](int count) {
    shard_numbers numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 1);
    create(numbers);
    release(numbers);
  };
  BOOST_TEST(cost_of_ten_times_as_much(1'000, come_and_go) < 40);
}

BOOST_AUTO_TEST_SUITE_END()

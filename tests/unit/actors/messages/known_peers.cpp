// As whom processes are known by their connections, and which of them is obeyed; known_peers.hpp.
#include <troupe/actors/messages/known_peers.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <set>
#include <string>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(known_peers_suite)

namespace {

process_system process(std::uint8_t number) { return {.process = {{number, 7}}, .number = 1}; }

peer_identity identity(std::uint8_t number, task_id task, process_key key = {{1}}) {
  peer_identity made;
  made.cluster = "training";
  made.task = std::move(task);
  made.incarnation = made.is_member() ? 5 : 0;
  made.system = process(number);
  made.key = key;
  return made;
}

const task_id worker{"worker", 0};

struct world {
  /// Two handshakes: that of troupe, then CAF's.
  status connect(std::int64_t connection, const peer_identity& shown) {
    peers.expect(connection, shown);
    return peers.begin(connection, shown.system.node());
  }
  task_id known() const {
    const auto found = peers.find(process(1).node());
    return found ? found->task : task_id{"nobody", 0};
  }
  known_peers peers;
};

bool says(const status& why, const std::string& text) { return why.message().find(text) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(node_ids_are_made_from_process_ids_and_back) {
  const auto own = process_id::of_this_process();
  BOOST_TEST((own == process_id::of_this_process()));
  BOOST_TEST(static_cast<bool>(own));
  std::set<caf::node_id> nodes;
  for (const auto number : {1U, 2U, 77U}) {
    const process_system system{own, number};
    BOOST_TEST((process_system::of(system.node()) == system));
    nodes.insert(system.node());
  }
  BOOST_TEST(nodes.size() == 3U);
  BOOST_TEST((process_system::of(caf::node_id{}) == process_system{}));
  caf::node_id::default_data::host_id_type of_another_program;
  of_another_program.fill(1);
  BOOST_TEST((process_system::of(caf::make_node_id(1, of_another_program)) == process_system{}));
}

// PI-1
BOOST_FIXTURE_TEST_CASE(while_a_process_is_connected_no_other_one_comes_in_its_name, world) {
  const auto true_one = identity(1, worker);
  BOOST_TEST(connect(1, true_one).ok());
  BOOST_TEST(connect(2, true_one).ok());
  const auto other_key = identity(1, worker, {{2}});
  auto other_role = true_one;
  other_role.certified_role = "client";
  auto other_proof = true_one;
  other_proof.proof = identity_proof::secret;
  auto other_cluster = true_one;
  other_cluster.cluster = "other";
  std::int64_t connection = 10;
  for (const auto& shown : {other_key, other_role, other_proof, other_cluster, identity(1, {"chief", 0})}) {
    BOOST_TEST((peers.check(shown).code() == status_code::permission_denied));
    BOOST_TEST((connect(++connection, shown).code() == status_code::permission_denied));
    peers.end(connection);
  }
  BOOST_TEST(says(peers.check(other_key), "two processes have the same identity"));
  BOOST_TEST((known() == worker));
  // It is fixed as long as one of its connections lives.
  peers.end(1);
  BOOST_TEST(!peers.check(other_key).ok());
  peers.end(2);
  BOOST_TEST((known() == task_id{"nobody", 0}));
  BOOST_TEST(connect(3, other_key).ok());
}

// PI-2
BOOST_FIXTURE_TEST_CASE(a_client_may_become_a_member_and_stays_it, world) {
  BOOST_TEST(connect(1, identity(1, {})).ok());
  BOOST_TEST((known() == task_id{}));
  BOOST_TEST(connect(2, identity(1, worker)).ok());
  BOOST_TEST(connect(3, identity(1, {})).ok());
  BOOST_TEST((known() == worker));
  BOOST_TEST(!connect(4, identity(1, {"worker", 1})).ok());
}

/// With certificates a worker without a task, as one that looks for its group, states only "worker".
BOOST_FIXTURE_TEST_CASE(a_process_that_states_its_role_only_may_have_any_task, world) {
  const auto in_role = [](int index) {
    auto made = identity(1, {"worker", index});
    made.incarnation = 0;
    return made;
  };
  BOOST_TEST(connect(1, in_role(0)).ok());
  BOOST_TEST(connect(2, in_role(1)).ok());
  BOOST_TEST(connect(3, identity(1, {"worker", 2})).ok());
  BOOST_TEST(connect(4, in_role(0)).ok());
  BOOST_TEST(known().index == 2);
}

BOOST_FIXTURE_TEST_CASE(cafs_handshake_names_the_process_that_has_connected, world) {
  peers.expect(1, identity(1, worker));
  BOOST_TEST(!peers.begin(1, process(2).node()).ok());
  BOOST_TEST(connect(2, identity(1, worker)).ok());
  BOOST_TEST(peers.begin(2, process(1).node()).ok());
  BOOST_TEST(!peers.begin(2, process(2).node()).ok());
  // Nobody was expected there, so it has no identity, and is not the one that has.
  BOOST_TEST(!peers.begin(3, process(1).node()).ok());
  BOOST_TEST(peers.begin(4, process(3).node()).ok());
  BOOST_TEST(!peers.find(process(3).node())->is_member());
}

// PI-3
BOOST_FIXTURE_TEST_CASE(a_chief_is_who_adopted_a_member_and_is_a_chief, world) {
  const auto chief = process(1).node();
  const auto other = process(2).node();
  const auto member = 0;
  BOOST_TEST(!peers.has_chief());
  BOOST_TEST(!peers.may_be_chief(chief));
  peers.set_chief(&member, chief);
  BOOST_TEST(peers.has_chief());
  BOOST_TEST(!peers.is_chief(chief));  // it is not connected
  BOOST_TEST(connect(1, identity(1, {"chief", 0})).ok());
  BOOST_TEST(connect(2, identity(2, {"chief", 0})).ok());
  BOOST_TEST(peers.is_chief(chief));
  BOOST_TEST(!peers.is_chief(other));
  BOOST_TEST(peers.may_be_chief(other));
  peers.set_chief(&member, other);
  BOOST_TEST(!peers.is_chief(chief));
  BOOST_TEST(peers.is_chief(other));
  peers.forget_chief(&member);
  BOOST_TEST(!peers.has_chief());
}

BOOST_AUTO_TEST_CASE(each_system_has_its_own_for_as_long_as_somebody_keeps_them) {
  caf::actor_system_config config;
  caf::actor_system one{config};
  caf::actor_system other{config};
  const auto peers = known_peers::of(one);
  BOOST_TEST((known_peers::of(one) == peers));
  BOOST_TEST((known_peers::of(other) != peers));
  {
    chief_of_member member{one};
    member.set(process(1).node());
    BOOST_TEST(peers->has_chief());
    BOOST_TEST(!known_peers::of(other)->has_chief());
  }
  BOOST_TEST(!peers->has_chief());
  known_peers::forget(one);
  BOOST_TEST((known_peers::of(one) != peers));
}

BOOST_AUTO_TEST_SUITE_END()

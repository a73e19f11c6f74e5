// A cluster inside one process that encodes what its members send each other; local_cluster::encode.
#include "support/limits_between_members.hpp"
#include "support/local_world.hpp"
#include "support/refusal.hpp"

#include <troupe/actors/values/internal/archive.hpp>
#include <troupe/actors/values/message_type.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/scoped_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cmath>
#include <memory>
#include <string>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(encoding_suite)

namespace {

const local_cluster encoding{.workers = 1, .servers = 1, .encode = true};

/// Says whether it is a copy that was made of bytes.
struct witness {
  std::string words = "made here";
  template <class Archive>
  void save(Archive& archive) const {
    archive(words);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(words);
    words = "made of bytes";
  }
};

TROUPE_MESSAGE(witness)

struct lower_limit {
  explicit lower_limit(std::size_t bytes) { set_value_bytes_max(bytes); }
  ~lower_limit() { set_value_bytes_max(before); }
  std::size_t before = value_bytes_max();
};

}  // namespace

BOOST_AUTO_TEST_CASE(arguments_and_results_are_made_into_bytes_and_back_only_when_it_is_asked_for) {
  for (const auto encode : {false, true}) {
    local_world world{{.workers = 1, .servers = 0, .encode = encode}};
    const std::string expected = encode ? "made of bytes" : "made here";
    auto& coordinator = world.coordinator;
    const auto said = coordinator.schedule([](const witness& x) { return x.words; }, witness{});
    BOOST_TEST(said.fetch() == expected);
    const auto result = coordinator.schedule([] { return witness{}; });
    BOOST_TEST(result.get().words == expected);
    BOOST_TEST(coordinator.schedule([](const witness& x) { return x.words; }, result).fetch() == expected);
    const auto kept = coordinator.create_per_worker_values([](const witness& x) { return x.words; }, witness{});
    BOOST_TEST(coordinator.schedule([](const std::string& x) { return x; }, kept).fetch() == expected);
  }
}

BOOST_AUTO_TEST_CASE(results_and_variables_are_equal_bit_by_bit) {
  local_world world{encoding};
  auto& coordinator = world.coordinator;
  const auto v1 = world.strategy.variable("v1", 0.0f);
  const auto v2 = world.strategy.variable("v2", 1.0f);
  BOOST_TEST(coordinator
                 .schedule(
                     [](variable<float> a, variable<float> b) {
                       a.assign_add(0.1f);
                       b.assign_sub(0.2f);
                       return a.read() / b.read();
                     },
                     v1, v2)
                 .fetch() == 0.125f);
  // Larger than what travels inside of a message, and than a message may be beside its tensors.
  auto content = tensor::zeros(dtype::float32, {20 << 20});
  content.mutable_values<float>()[7] = -0.0f;
  BOOST_TEST(coordinator.schedule([](const tensor& x) { return x; }, content).fetch().bitwise_equal(content));
  const auto v = world.strategy.variable("v", content);
  const auto changed = coordinator.schedule(
      [](tensor_variable x) {
        x.assign_add(x.read());
        return x.read().values<float>()[7];
      },
      v);
  BOOST_TEST(std::signbit(changed.fetch()));
  BOOST_TEST(v.read().bitwise_equal(content));
}

BOOST_AUTO_TEST_CASE(what_is_over_a_limit_or_can_not_be_encoded_fails_its_closure_alone) {
  local_world world{encoding};
  const auto all = failures_between_members(world.coordinator);
  BOOST_TEST_REQUIRE(all.size() == 6u);
  BOOST_TEST(contains(all[0], "the closure's result could not be sent"), all[0]);
  BOOST_TEST(contains(all[0], "over the limit of 67108864; pass large data as tensors"), all[0]);
  BOOST_TEST(contains(all[1], "could not be sent to /job:worker/task:0"), all[1]);
  BOOST_TEST(contains(all[2], "could not be sent to /job:worker/task:0"), all[2]);
  BOOST_TEST(contains(all[3], "13 brings bad luck"), all[3]);
  BOOST_TEST(all[4] == "nothing failed");
  BOOST_TEST(all[5] == "nothing failed");
}

BOOST_AUTO_TEST_CASE(the_same_program_passes_in_one_process_that_does_not_encode) {
  local_world world{{.workers = 1, .servers = 1}};
  for (const auto& each : failures_between_members(world.coordinator)) BOOST_TEST(each == "nothing failed");
}

namespace {

using clerk_actor = caf::typed_actor<caf::replies_to<witness>::with<witness>, caf::reacts_to<witness, int>,
                                     caf::replies_to<int>::with<std::string>>;

clerk_actor::behavior_type clerk(clerk_actor::pointer) {
  const auto told = std::make_shared<std::string>();
  return {[](const witness& x) { return witness{x.words + ", answered"}; },
          [told](const witness& x, int) { *told = x.words; }, [told](int) { return *told; }};
}

}  // namespace

BOOST_AUTO_TEST_CASE(messages_to_offered_actors_are_made_into_bytes_too) {
  local_world world{encoding};
  const auto here = world.members.here();
  const auto reference = here.offer("clerk", here.spawn(clerk));
  BOOST_TEST(ask(reference, 5s, witness{}).words == "made of bytes");
  BOOST_TEST(reference.tell(witness{}, 1));
  BOOST_TEST(ask(reference, 5s, 1) == "made of bytes");
  caf::scoped_actor self{world.system};
  world.system.spawn([=, to = caf::actor{self}](caf::event_based_actor* asker) {
    reference.request(asker, 5s, witness{})
        .then([=](const witness& answer) { asker->send(to, answer.words); },
              [=](const status& why) { asker->send(to, why.render()); });
  });
  self->receive([](const std::string& said) { BOOST_TEST(said == "made of bytes"); });
}

BOOST_AUTO_TEST_CASE(messages_to_offered_actors_pass_as_objects_otherwise) {
  local_world world;
  const auto here = world.members.here();
  const auto reference = here.offer("clerk", here.spawn(clerk));
  BOOST_TEST(ask(reference, 5s, witness{}).words == "made here, answered");
}

BOOST_AUTO_TEST_CASE(variables_have_the_limits_that_they_have_between_processes) {
  local_world world{encoding};
  const auto small = tensor::zeros(dtype::float32, {1 << 10});
  const auto v = world.strategy.variable("v", small);
  const lower_limit limit{std::size_t{2} << 10};
  BOOST_CHECK_THROW(v.assign(small), resource_exhausted_error);
  BOOST_CHECK_THROW(v.read(), resource_exhausted_error);
}

BOOST_AUTO_TEST_CASE(the_last_cluster_that_encodes_ends_it) {
  const caf::node_id here;
  BOOST_TEST(!is_encoded_between(here, here));
  {
    const local_world world{encoding};
    BOOST_TEST(is_encoded_between(here, here));
    { const local_world another{encoding}; }
    BOOST_TEST(is_encoded_between(here, here));
  }
  BOOST_TEST(!is_encoded_between(here, here));
}

BOOST_AUTO_TEST_SUITE_END()

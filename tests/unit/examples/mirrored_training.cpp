// Synchronous training gives the same network whatever the number of replicas; examples/fashion_mnist.
#include "fashion_mnist/mirrored_training.hpp"
#include "fashion_mnist/network.hpp"
#include "fashion_mnist/plain_loop.hpp"
#include "unit/runtime/replicas/replica_test.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>

namespace troupe::fashion_mnist {

BOOST_AUTO_TEST_SUITE(mirrored_training_suite)

namespace {

const dataset& images() {
  static const auto data = load_dataset();
  return data;
}

labelled_images first_of(const labelled_images& all, std::int64_t count) {
  return {all.images.slice(0, count), all.labels.slice(0, count)};
}

/// Enough to learn much of it, and little enough for a build with sanitizers.
dataset some_images() { return {first_of(images().train, 1500), first_of(images().test, 1000)}; }

const recipe chosen{.epochs = 2, .batch_size = 50};

double accuracy_with(int replicas) {
  const mirrored_strategy strategy{replica_devices(replicas)};
  const auto network = make_mirrored_network(strategy, chosen);
  const auto result = train_mirrored(strategy, network, some_images().train, chosen);
  BOOST_TEST(result.steps == 60);
  BOOST_TEST(result.images == 3'000);
  BOOST_TEST(copies_are_equal(network.parameters));
  BOOST_TEST(copies_are_equal(network.second_moments));
  return accuracy(values_on_host(network.parameters), some_images().test);
}

BOOST_AUTO_TEST_CASE(one_two_and_four_replicas_reach_the_accuracy_of_the_plain_loop_with_bitwise_equal_copies) {
  const auto plain = train_in_plain_loop(some_images(), chosen).test_accuracy;
  BOOST_TEST(plain > 0.6);
  for (const auto replicas : {1, 2, 4}) {
    const auto reached = accuracy_with(replicas);
    // The sums of gradients are rounded in another order.
    BOOST_TEST(std::abs(reached - plain) < 0.02, replicas << " replicas reach " << reached << " instead of " << plain);
  }
}

BOOST_AUTO_TEST_CASE(a_step_is_the_same_whether_a_batch_divides_evenly_or_not) {
  const recipe small{.epochs = 1, .batch_size = 10};
  const auto few = first_of(images().train, 31);
  std::vector<std::vector<tensor>> trained;
  for (const auto replicas : {1, 4}) {
    const mirrored_strategy strategy{replica_devices(replicas)};
    const auto network = make_mirrored_network(strategy, small);
    BOOST_TEST(train_mirrored(strategy, network, few, small).images == 31);
    trained.push_back(values_on_host(network.parameters));
  }
  for (auto i = std::size_t{0}; i < trained[0].size(); ++i) {
    const auto one = trained[0][i].values<float>();
    const auto four = trained[1][i].values<float>();
    for (auto k = std::size_t{0}; k < one.size(); ++k) BOOST_REQUIRE(std::abs(one[k] - four[k]) < 1e-3f);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::fashion_mnist

// troupe's names beside those of an application that says `using namespace`: what it is likely to have itself, troupe
// does not have. What troupe is about has these names there, too: tensor, variable, value, status, error, event,
// member, strategy, dataset, optimizer, shape, run. Of the standard library's names it has mutex, for fibers.
#include <troupe/troupe.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>
#include <mutex>
#include <numeric>

using namespace std;
using namespace troupe;

struct node {};
struct element {};
struct presence {};
struct placement {};
struct state {};
struct config {};
struct message {};
struct task {};
struct job {};
struct model {};
struct batch {};
struct row {};
struct step {};
struct worker {};
struct server {};
struct coordinator {};
struct sensor {};
struct request {};
struct listener {};
struct counter {};
struct replica_state {};
struct record {};
struct success {};
struct dismissed {};
struct start_failed {};

BOOST_AUTO_TEST_SUITE(names_suite)

BOOST_AUTO_TEST_CASE(an_application_may_use_both_namespaces_and_common_names_of_its_own) {
  const tuple all{node{},   element{}, presence{}, placement{},     state{},  config{}, message{}, task{},
                  job{},    model{},   batch{},    row{},           step{},   worker{}, server{},  coordinator{},
                  sensor{}, request{}, listener{}, replica_state{}, record{}, counter{}};
  BOOST_TEST(tuple_size_v<decltype(all)> == 22u);
  BOOST_TEST(identity{}(7) == 7);
  std::mutex guard;
  const scoped_lock lock{guard};
}

BOOST_AUTO_TEST_SUITE_END()

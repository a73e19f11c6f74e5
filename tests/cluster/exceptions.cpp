// What closures and actors throw in other processes, some of which know more types of exceptions than the chief.
#include "process_cluster.hpp"
#include "support/thrown.hpp"
#include "test_program.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>

#include <boost/test/unit_test.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(exceptions_suite)

namespace {

using namespace std::chrono_literals;
using namespace thrown;

template <class Exception, class Work>
Exception caught(Work work) {
  try {
    work();
  } catch (const Exception& found) {
    return found;
  } catch (...) {
    throw internal_error{status_of(std::current_exception()).wrap("another exception")};
  }
  throw internal_error{"nothing was thrown"};
}

int refuse(int code) { throw refused{"by the door", code}; }

/// Known to the worker only, and only when it throws it.
struct of_the_worker : std::runtime_error {
  using runtime_error::runtime_error;
};

using clerk_actor = caf::typed_actor<caf::replies_to<int>::with<int>>;

clerk_actor::behavior_type clerk(clerk_actor::pointer) {
  return {[](int code) -> int { throw refused{"closed", code}; }};
}

void run_throws(cluster& here) {
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  const auto failed = coordinator.schedule<refuse>(7);
  require(caught<refused>([&] { failed.fetch(); }).code() == 7, "fetch throws what was thrown");
  require(caught<refused>([&] { failed.get(); }).what() == std::string{"by the door"}, "get, too");
  require(caught<refused>([&] { coordinator.join(); }).code() == 7, "join, too");
  const auto text = [&](auto closure) {
    const auto result = coordinator.schedule(closure);
    const auto said = caught<unknown_error>([&] { result.fetch(); });
    caught<unknown_error>([&] { coordinator.join(); });
    return std::string{said.what()};
  };
  say("unregistered: {}", text([]() -> int { throw unheard_of{"row 9"}; }));
  say("unknown here: {}", text([]() -> int {
        register_exception<of_the_worker>();
        throw of_the_worker{"what it says"};
      }));
  const auto found = here.here().find<clerk_actor>({"worker", 0}, "clerk");
  require(caught<refused>([&] { ask(found, 10s, 8); }).code() == 8, "an actor's handler, too");
  say("went on");
}

const test_program throws{"throws exceptions", [](int argc, char** argv) {
                            return run(argc, argv, {.program = run_throws, .on_member = [](member& here) {
                                                      if (here.task().job == "worker")
                                                        here.offer("clerk", here.spawn(clerk));
                                                    }});
                          }};

}  // namespace

BOOST_AUTO_TEST_CASE(exceptions_cross_processes_as_themselves_or_by_name) {
  process_cluster cluster{throws.name(), {.workers = 1, .servers = 0}};
  cluster.start();
  const auto unregistered = cluster.wait_for("unregistered: ");
  BOOST_TEST(unregistered.find("thrown::unheard_of: row 9") != std::string::npos, unregistered);
  const auto unknown = cluster.wait_for("unknown here: ");
  BOOST_TEST(unknown.find("of_the_worker: what it says") != std::string::npos, unknown);
  cluster.wait_for("went on");
  BOOST_TEST(to_string(cluster.end_of(chief_task)) == "exit code 0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

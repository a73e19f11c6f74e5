// Who waits for whom: edges over locks and closures, cycles, and the two texts.
#include <troupe/runtime/wait_graph.hpp>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(wait_graph_suite)

namespace {

using node = wait_graph::node;

/// Of process 0, the chief's thread, which wants a closure that worker 1 has; there it wants a lock.
cluster_waits chief_and_worker() {
  cluster_waits all;
  all.processes.push_back({.task = {"chief", 0},
                           .host = "a",
                           .process = 10,
                           .waits = {{.who = "thread 10 (trainer)",
                                      .what = "the value of step",
                                      .waiter = 2,
                                      .closure = 0xabc,
                                      .time_ns = 3'000'000'000}},
                           .silent = {}});
  all.processes.push_back({.task = {"worker", 1},
                           .host = "b",
                           .process = 11,
                           .waits = {{.who = "closure 0.1 (step)",
                                      .what = "a troupe::mutex",
                                      .waiter = 4,
                                      .holder = 6,
                                      .runs = 17,
                                      .time_ns = 2'000'000'000}},
                           .silent = {}});
  all.closures = {{.closure = 0xabc, .id = 17, .worker = 1}};
  return all;
}

void add_holder(cluster_waits& to, std::uint64_t holder_of_holder) {
  to.processes[1].waits.push_back({.who = "closure 1.1 (step)",
                                   .what = "another mutex",
                                   .waiter = 6,
                                   .holder = holder_of_holder,
                                   .time_ns = 1'000'000'000});
}

void require_part(const std::string& text, const std::string& part) {
  BOOST_TEST(text.find(part) != std::string::npos, "\"" << part << "\" is in:\n" << text);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_closure_leads_to_the_worker_that_runs_it_and_a_lock_to_its_holder) {
  auto told = chief_and_worker();
  add_holder(told, 0);
  const wait_graph graph{told};
  BOOST_TEST_REQUIRE(graph.next({0, 0}).has_value());
  BOOST_TEST((*graph.next({0, 0}) == node{1, 0}));
  BOOST_TEST_REQUIRE(graph.next({1, 0}).has_value());
  BOOST_TEST((*graph.next({1, 0}) == node{1, 1}));
  BOOST_TEST(!graph.next({1, 1}).has_value());
  BOOST_TEST(graph.cycles().empty());
  require_part(graph.to_string(),
               "/job:chief/task:0, process 10 on a\n"
               "  thread 10 (trainer) has waited for 3000 ms for the value of step\n"
               "    -> closure 0.1 (step), which waits, too\n");
}

BOOST_AUTO_TEST_CASE(numbers_of_one_process_mean_nothing_in_another) {
  auto told = chief_and_worker();
  told.processes[0].waits[0] = {.who = "thread", .what = "a lock", .waiter = 6, .holder = 4};
  BOOST_TEST(!wait_graph{told}.next({0, 0}).has_value());
  // So do addresses of closures, which only the chief's coordinator knows.
  told = chief_and_worker();
  std::swap(told.processes[0].waits, told.processes[1].waits);
  BOOST_TEST(!wait_graph{told}.next({1, 0}).has_value());
}

BOOST_AUTO_TEST_CASE(a_cycle_is_found_once_and_marked_wherever_the_walk_to_it_begins) {
  auto told = chief_and_worker();
  add_holder(told, 4);
  const wait_graph graph{told};
  BOOST_TEST_REQUIRE(graph.cycles().size() == 1u);
  BOOST_TEST((graph.cycles()[0] == std::vector<node>{{1, 0}, {1, 1}}));
  const auto text = graph.to_string();
  require_part(text,
               "closure 0.1 (step) has waited for 2000 ms for a troupe::mutex\n"
               "    -> closure 1.1 (step), which waits, too   (cycle 1)\n");
  require_part(text,
               "thread 10 (trainer) has waited for 3000 ms for the value of step\n"
               "    -> closure 0.1 (step), which waits, too\n");
  require_part(text,
               "cycle 1: none of these goes on before another one of them has:\n"
               "  closure 0.1 (step) has waited for 2000 ms for a troupe::mutex\n"
               "  closure 1.1 (step) has waited for 1000 ms for another mutex\n");
}

BOOST_AUTO_TEST_CASE(several_cycles_are_told_apart) {
  cluster_waits told;
  told.processes.push_back({.task = {"chief", 0}, .host = "a", .process = 1, .waits = {}, .silent = {}});
  const auto add = [&](std::uint64_t waiter, std::uint64_t holder) {
    told.processes[0].waits.push_back({.who = "w", .what = "x", .waiter = waiter, .holder = holder});
  };
  add(2, 4);
  add(4, 2);
  add(6, 6);
  add(8, 6);
  const wait_graph graph{told};
  BOOST_TEST_REQUIRE(graph.cycles().size() == 2u);
  BOOST_TEST(graph.cycles()[0].size() == 2u);
  BOOST_TEST(graph.cycles()[1].size() == 1u);
}

BOOST_AUTO_TEST_CASE(who_does_not_wait_and_who_does_not_tell_is_said) {
  auto told = chief_and_worker();
  told.processes.push_back(
      {.task = {"ps", 0}, .host = {}, .waits = {}, .silent = {status_code::unavailable, "frozen"}});
  told.processes.push_back({.task = {"ps", 1}, .host = "c", .process = 12, .waits = {}, .more = 3, .silent = {}});
  told.outstanding = "1 closure has not ended";
  const auto text = wait_graph{told}.to_string();
  require_part(
      text, "    -> a fiber or thread of the same process, which does not wait: it computes, or blocks its thread\n");
  require_part(text, "/job:ps/task:0\n  does not tell who waits there: unavailable: frozen\n");
  require_part(text, "/job:ps/task:1, process 12 on c\n  nothing waits\n  and 3 more\n");
  require_part(text, "closures: 1 closure has not ended\n");
  told.processes[1].waits.clear();
  require_part(wait_graph{told}.to_string(),
               "    -> /job:worker/task:1, which has it and does not say that it waits\n");
}

BOOST_AUTO_TEST_CASE(programs_read_the_same_as_json) {
  auto told = chief_and_worker();
  add_holder(told, 4);
  told.processes[0].waits[0].what = "bytes \xff that are no text";
  told.processes.push_back(
      {.task = {"ps", 0}, .host = {}, .waits = {}, .silent = {status_code::unavailable, "frozen"}});
  const auto read = nlohmann::json::parse(wait_graph{told}.to_json());
  const auto& worker = read.at("processes").at(1);
  BOOST_TEST(worker.at("task") == "/job:worker/task:1");
  BOOST_TEST(worker.at("process") == 11);
  BOOST_TEST(worker.at("waits").at(0).at("time_ms") == 2000);
  BOOST_TEST(worker.at("waits").at(0).at("next").at("wait") == 1);
  BOOST_TEST(worker.at("waits").at(0).at("cycle") == 0);
  BOOST_TEST(!read.at("processes").at(0).at("waits").at(0).contains("cycle"));
  BOOST_TEST(read.at("processes").at(2).at("silent") == "unavailable: frozen");
  BOOST_TEST(read.at("cycles").size() == 1u);
  BOOST_TEST(read.at("cycles").at(0).at(1).at("wait") == 1);
  const auto nothing = nlohmann::json::parse(wait_graph{{}}.to_json());
  BOOST_TEST(nothing.at("processes").empty());
  BOOST_TEST(nothing.at("cycles").empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

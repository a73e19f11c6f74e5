#include "support/environment_variable.hpp"
#include "support/refusal.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/cluster_spec.hpp>
#include <troupe/runtime/cluster/task_environment.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(cluster_spec_suite)

namespace {

using troupe::cluster_spec;
using troupe::message_of;
using troupe::task_address;

std::string tf_config(std::string_view cluster, std::string_view task) {
  return fmt::format(R"({{"cluster": {}, "task": {}}})", cluster, task);
}

constexpr auto small_cluster = R"({"chief": ["a:1"], "worker": ["b:2", "c:3"], "ps": ["d:4"]})";
constexpr auto worker_0 = R"({"type": "worker", "index": 0})";

struct refused_text {
  std::string text;
  std::vector<std::string> message_parts;
};

void check_refused(const std::vector<refused_text>& table) {
  for (const auto& row : table) {
    const auto message = message_of<troupe::invalid_argument_error>([&] { troupe::parse_tf_config(row.text); });
    for (const auto& part : row.message_parts) {
      BOOST_TEST(message.find(part) != std::string::npos,
                 "for " << row.text << "\n  the message  " << message << "\n  lacks  " << part);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_complete_tf_config_gives_the_cluster_and_the_task) {
  const auto config = troupe::parse_tf_config(tf_config(small_cluster, R"({"type": "worker", "index": 1})"));
  BOOST_TEST(config.cluster.chief.size() == 1);
  BOOST_TEST(config.cluster.worker.size() == 2);
  BOOST_TEST(to_string(config.cluster.address(config.task)) == "c:3");
  BOOST_TEST(to_string(config.cluster.address({"ps", 0})) == "d:4");
  BOOST_TEST(to_string(config.task) == "/job:worker/task:1");
}

BOOST_AUTO_TEST_CASE(a_tf_config_survives_writing_and_reading) {
  const auto config = troupe::parse_tf_config(
      tf_config(R"({"chief": ["host-1.example:1"], "worker": ["[::1]:65535", "10.0.0.1:2222"]})", worker_0));
  BOOST_TEST((troupe::parse_tf_config(troupe::to_tf_config(config)) == config));
  BOOST_TEST((cluster_spec::from_json(config.cluster.to_json()) == config.cluster));
}

BOOST_AUTO_TEST_CASE(fields_that_other_launchers_add_are_ignored) {
  const auto config = troupe::parse_tf_config(
      R"({"cluster": {"chief": ["a:1"], "worker": ["b:2"]}, "environment": "cloud",
          "rpc_layer": "grpc", "task": {"type": "chief", "index": 0, "trial": "3"}})");
  BOOST_TEST(to_string(config.task) == "/job:chief/task:0");
  BOOST_TEST(config.cluster.tasks().size() == 2);
}

BOOST_AUTO_TEST_CASE(master_is_an_older_name_of_the_chief) {
  const auto config = troupe::parse_tf_config(
      tf_config(R"({"master": ["a:1"], "worker": ["b:2"]})", R"({"type": "master", "index": 0})"));
  BOOST_TEST(config.task.job == "chief");
  BOOST_TEST(to_string(config.cluster.chief.front()) == "a:1");
}

BOOST_AUTO_TEST_CASE(tasks_are_listed_servers_first_and_the_chief_last) {
  const auto spec = cluster_spec::from_json(std::string_view{small_cluster});
  std::string names;
  for (const auto& task : spec.tasks()) names += to_string(task) + " ";
  BOOST_TEST(names == "/job:ps/task:0 /job:worker/task:0 /job:worker/task:1 /job:chief/task:0 ");
}

BOOST_AUTO_TEST_CASE(other_jobs_are_roles_of_the_application) {
  const auto config = troupe::parse_tf_config(
      tf_config(R"({"chief": ["a:1"], "worker": ["b:2"], "evaluator": ["e:9"], "probe": ["p:1", "p:2"]})",
                R"({"type": "evaluator", "index": 0})"));
  BOOST_TEST(to_string(config.task) == "/job:evaluator/task:0");
  BOOST_TEST(to_string(config.cluster.address({"probe", 1})) == "p:2");
  BOOST_TEST(config.cluster.tasks().size() == 5u);
  BOOST_TEST((troupe::parse_tf_config(troupe::to_tf_config(config)) == config));
}

BOOST_AUTO_TEST_CASE(text_that_is_no_json_object_is_refused) {
  check_refused({
      {"{", {"TF_CONFIG is not valid JSON", "column 2"}},
      {"chief", {"TF_CONFIG is not valid JSON"}},
      {"[]", {"TF_CONFIG is a list", "must be a JSON object"}},
      {"null", {"TF_CONFIG is null"}},
      {R"({"task": {}, "task": {}})", {"the key \"task\" occurs twice"}},
      {std::string(100, '[') + std::string(100, ']'), {"nested more than 32 levels"}},
      {"{}", {"TF_CONFIG: cluster is missing"}},
  });
}

BOOST_AUTO_TEST_CASE(each_malformed_cluster_field_is_named_with_what_it_must_hold) {
  const auto with_cluster = [](std::string_view cluster) { return tf_config(cluster, worker_0); };
  check_refused({
      {with_cluster("7"), {"TF_CONFIG: cluster is 7 (a number)", "must be an object"}},
      {with_cluster("{}"), {"TF_CONFIG: cluster.chief is missing or empty"}},
      {with_cluster(R"({"chief": [], "worker": ["b:2"]})"), {"cluster.chief is missing or empty"}},
      {with_cluster(R"({"chief": ["a:1", "b:1"], "worker": ["c:2"]})"), {"cluster.chief has 2 addresses"}},
      {with_cluster(R"({"chief": ["a:1"]})"), {"cluster.worker is missing or empty", "at least one worker"}},
      {with_cluster(R"({"chief": ["a:1"], "worker": []})"), {"cluster.worker is missing or empty"}},
      {with_cluster(R"({"chief": ["a:1"], "master": ["b:1"], "worker": ["c:1"]})"), {"two names of one job"}},
      {with_cluster(R"({"chief": ["a:1"], "workers": ["b:1"]})"), {"\"workers\"", "called \"worker\""}},
      {with_cluster(R"({"chief": ["a:1"], "worker": ["b:1"], "Servers": ["c:1"]})"), {"\"Servers\"", "called \"ps\""}},
      {with_cluster(R"({"chief": ["a:1"], "worker": ["b:1"], "my role": ["c:1"]})"), {"\"my role\"", "letters"}},
      {with_cluster(R"({"chief": "a:1", "worker": ["b:1"]})"), {"cluster.chief is \"a:1\" (a string)", "a list"}},
      {with_cluster(R"({"chief": ["a:1"], "worker": {"0": "b:1"}})"), {"cluster.worker is {", "a list"}},
      {with_cluster(R"({"chief": ["a:1"], "worker": ["b:1", 7]})"), {"cluster.worker[1] is 7 (a number)", "string"}},
      {with_cluster(R"({"chief": ["a:1"], "worker": ["b:1", "host"]})"),
       {"TF_CONFIG: cluster.worker[1]", "\"host\" has no port", "expected \"host:port\""}},
      {with_cluster(R"({"chief": ["a:1"], "worker": ["b:1"], "ps": ["a:1"]})"),
       {"TF_CONFIG: cluster.ps[0] and cluster.chief[0] are both \"a:1\"", "change one port"}},
      {with_cluster(R"({"chief": ["a:1"], "worker": ["b:1", "b:1"]})"), {"cluster.worker[0]", "cluster.worker[1]"}},
  });
}

BOOST_AUTO_TEST_CASE(each_malformed_task_field_is_named_with_what_it_must_hold) {
  const auto with_task = [](std::string_view task) { return tf_config(small_cluster, task); };
  check_refused({
      {fmt::format(R"({{"cluster": {}}})", small_cluster), {"TF_CONFIG: task is missing"}},
      {with_task("\"worker\""), {"TF_CONFIG: task is \"worker\" (a string)", "must be an object"}},
      {with_task(R"({"index": 0})"), {"task.type is missing", "\"chief\", \"worker\", \"ps\" or another job"}},
      {with_task(R"({"type": 3, "index": 0})"), {"task.type is 3", "\"chief\", \"worker\", \"ps\" or another job"}},
      {with_task(R"({"type": "wroker", "index": 0})"), {"task.type is \"wroker\""}},
      {with_task(R"({"type": "worker"})"), {"task.index is missing", "from 0 to 1"}},
      {with_task(R"({"type": "worker", "index": "1"})"), {"the string \"1\"", "without quotes"}},
      {with_task(R"({"type": "worker", "index": 1.5})"), {"task.index is 1.5"}},
      {with_task(R"({"type": "worker", "index": -1})"), {"task.index is -1", "from 0 to 1"}},
      {with_task(R"({"type": "worker", "index": 2})"), {"task.index is 2", "cluster.worker has 2 addresses"}},
      {with_task(R"({"type": "worker", "index": 18446744073709551615})"), {"task.index is 18446744073709551615"}},
      {with_task(R"({"type": "chief", "index": 1})"), {"task.index is 1", "from 0 to 0"}},
      {tf_config(R"({"chief": ["a:1"], "worker": ["b:2"]})", R"({"type": "ps", "index": 0})"),
       {"cluster.ps is missing or empty"}},
  });
}

BOOST_AUTO_TEST_CASE(addresses_are_host_and_port) {
  const auto address = task_address::parse("worker-0.svc.local:2222");
  BOOST_TEST(address.host == "worker-0.svc.local");
  BOOST_TEST(address.port == 2222);
  BOOST_TEST(task_address::parse("[fe80::1%eth0]:1").host == "fe80::1%eth0");
  BOOST_TEST(to_string(task_address::parse("[::1]:80")) == "[::1]:80");
}

BOOST_AUTO_TEST_CASE(each_malformed_address_is_refused_with_the_reason) {
  const std::vector<refused_text> table{
      {"", {"has no port"}},
      {"host", {"has no port"}},
      {"host:", {"has no port"}},
      {":1", {"has no host"}},
      {"[]:1", {"has no host"}},
      {"[::1]", {"between host and port"}},
      {"::1:80", {"more than one colon", "brackets"}},
      {"host:0", {"the port 0", "1 to 65535"}},
      {"host:70000", {"the port 70000"}},
      {"host:99999999999999999999", {"1 to 65535"}},
      {"host:-1", {"the port"}},
      {"host:http", {"\"http\", which is no number"}},
      {"host:80 ", {"which is no number"}},
      {"my host:80", {"the character ' '"}},
      {"grpc://host:80", {"a protocol"}},
      {std::string(300, 'a') + ":80", {"253 characters"}},
  };
  for (const auto& row : table) {
    const auto message = message_of<troupe::invalid_argument_error>([&] { task_address::parse(row.text); });
    for (const auto& part : row.message_parts) {
      BOOST_TEST(message.find(part) != std::string::npos, row.text << ": " << message << " lacks " << part);
    }
    BOOST_TEST(message.find("expected \"host:port\"") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_task_that_the_cluster_does_not_have_is_refused) {
  const auto spec = cluster_spec::from_json(std::string_view{small_cluster});
  BOOST_CHECK_THROW(spec.address({"worker", 2}), troupe::invalid_argument_error);
  BOOST_CHECK_THROW(spec.address({"worker", -1}), troupe::invalid_argument_error);
  BOOST_CHECK_THROW(spec.address({"evaluator", 0}), troupe::invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(the_environment_gives_the_task_only_when_tf_config_is_set) {
  ::unsetenv("TF_CONFIG");
  BOOST_TEST(!troupe::tf_config_from_environment().has_value());
  {
    const troupe::environment_variable empty{"TF_CONFIG", ""};
    BOOST_TEST(!troupe::tf_config_from_environment().has_value());
  }
  {
    const troupe::environment_variable broken{"TF_CONFIG", "{"};
    BOOST_CHECK_THROW(troupe::tf_config_from_environment(), troupe::invalid_argument_error);
  }
  const auto text = tf_config(small_cluster, worker_0);
  const troupe::environment_variable complete{"TF_CONFIG", text};
  BOOST_TEST(to_string(troupe::tf_config_from_environment().value().task) == "/job:worker/task:0");
}

BOOST_AUTO_TEST_SUITE_END()

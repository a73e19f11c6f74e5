// What people and their tools write: TF_CONFIG, plans of faults, options of CAF's.
#include "decoder.hpp"
#include "memory_file.hpp"

#include <troupe/runtime/cluster/cluster_spec.hpp>
#include <troupe/runtime/cluster/task_environment.hpp>
#include <troupe/runtime/fault_plan.hpp>
#include <troupe/runtime/files/caf_options.hpp>

#include <caf/actor_system_config.hpp>

#include <chrono>
#include <string>

namespace troupe::fuzzed_text {

namespace {

using namespace std::chrono_literals;

std::vector<std::string> configurations() {
  return {
      R"({"cluster": {"chief": ["a:1"], "worker": ["b:2", "[::1]:3"], "ps": ["d:4"]}, "task": {"type": "worker", "index": 1}})",
      R"({"cluster": {"chief": ["10.0.0.1:2222"], "worker": {"0": "10.0.0.2:2222"}}, "task": {"type": "chief", "index": "0"}})"};
}

void configuration(std::string_view bytes) { parse_tf_config(bytes); }

std::vector<std::string> plans() {
  fault_plan plan;
  plan.at(1ms).kill("a").restart("b").cut("a", "b").set_clock("g", -3s);
  return {plan.to_json(), "[]", R"({"at_ms": 1, "do": "kill", "host": "a"})"};
}

void faults(std::string_view bytes) { fault_plan::from_json(bytes).to_json(); }

std::vector<std::string> options() {
  return {"[scheduler]\nmax-threads = 2\n", "[middleman]\nenable-tcp = true\napp-identifiers = [\"a\", \"b\"]\n",
          "; a comment\n[sensor]\ndepth=42\n", "[stream]\nmax-batch-delay = 5ms\n[a.b]\nc = [[-1s], {d = 2h}]\n"};
}

void option_file(std::string_view bytes) {
  const memory_file file{bytes};
  caf::actor_system_config config;
  read_caf_options(file.path(), config);
}

const decoder tf_configs{"tf-config", configurations, configuration};
const decoder fault_plans{"fault-plan", plans, faults};
const decoder caf_options{"caf-options", options, option_file};

}  // namespace

}  // namespace troupe::fuzzed_text

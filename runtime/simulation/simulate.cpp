// Programs that were written for `run`, on a simulated cluster.
#include <troupe/runtime/simulation.hpp>
#include <troupe/runtime/simulation/simulated_program.hpp>
#include <troupe/runtime/simulation/simulation_implementation.hpp>

#include <fmt/format.h>

#include <utility>

namespace troupe {

namespace {

/// As much as a main function has.
constexpr std::size_t program_stack_bytes = std::size_t{8} << 20;

cluster_options cluster_options_of(const run_options& options) {
  auto result = options.cluster;
  if (options.on_member) result.members.on_member = options.on_member;
  return result;
}

}  // namespace

std::vector<std::string> member_hosts(const local_cluster& size) {
  std::vector<std::string> result;
  const auto add = [&](const std::string& job, int count) {
    for (int i = 0; i < count; ++i) result.push_back(host_of({job, i}));
  };
  add("worker", size.workers);
  add("ps", size.servers);
  for (const auto& [role, count] : size.roles) add(role, count);
  return result;
}

int simulate(simulated_world& world, run_options options, duration limit) {
  if (!options.program) throw invalid_argument_error{"simulate: there is no program to run (run_options::program)"};
  if (options.config)
    throw invalid_argument_error{
        "simulate: run_options::config makes an actor system, but a simulation has its own for each task"};
  // What the program still refers to when the world goes on without it.
  const auto code = std::make_shared<int>(0);
  simulation cluster{world, options.size, cluster_options_of(options)};
  const auto began = world.now();
  cluster.run_until_ready(std::min(limit, options.cluster.start_limit));
  auto& chief = cluster.chief_cluster();
  const auto program =
      cluster.start_program([&chief, code, body = options.program] { *code = body(chief); }, program_stack_bytes);
  if (!world.run_until([&] { return program.ended(); }, limit - (world.now() - began)))
    throw deadline_exceeded_error{fmt::format("the program did not end within {} ms of virtual time. What waits:\n{}",
                                              in_milliseconds(limit), world.describe_waits())};
  if (!program.problem().ok()) throw_status(program.problem());
  return *code;
}

int simulate(world_options world, run_options options, duration limit) {
  simulated_world own{std::move(world)};
  return simulate(own, std::move(options), limit);
}

std::map<std::string, int> simulate_group(simulated_world& world, int processes,
                                          std::function<int(process_group&)> program, process_group_options options,
                                          duration limit) {
  if (processes < 1) throw invalid_argument_error{fmt::format("a group of {} processes is impossible", processes)};
  cluster_spec all;
  all.chief.push_back({host_of(chief_task), members_port});
  for (int i = 0; i + 1 < processes; ++i) all.worker.push_back({host_of({"worker", i}), members_port});
  auto& returned = world.keep<std::map<std::string, int>>();
  for (const auto& task : all.tasks())
    world.host(host_of(task), [=, &returned](simulated_host& here) {
      process_group group{here.system(), {all, task}, options};
      returned.insert_or_assign(here.name(), program(group));
    });
  const auto ended = [&] {
    for (const auto& task : all.tasks())
      if (world.running(host_of(task)) && !returned.contains(host_of(task))) return false;
    return true;
  };
  if (!world.run_until(ended, limit))
    throw deadline_exceeded_error{fmt::format("the group did not end within {} ms of virtual time. What waits:\n{}",
                                              in_milliseconds(limit), world.describe_waits())};
  return returned;
}

}  // namespace troupe

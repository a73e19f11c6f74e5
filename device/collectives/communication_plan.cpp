#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/base/device_name.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/collectives/communication_plan.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

bool is_gpu(const replica_device& device) { return device.gpu.has_value(); }

/// Emulated GPUs have NCCL's collectives emulated, too; a process has GPUs of one kind only.
bool is_emulated(const std::vector<replica_device>& devices) {
  return std::ranges::any_of(devices, &replica_device::is_emulated);
}

/// "GPU:0..2, CPU:0": runs of consecutive indices are drawn together.
std::string list_of(const std::vector<replica_device>& devices) {
  std::vector<std::string> parts;
  for (auto first = devices.begin(); first != devices.end();) {
    const auto begin = device_name::parse(first->name);
    auto last = begin;
    auto next = std::next(first);
    for (; next != devices.end(); ++next) {
      auto expected = last;
      ++expected.index;
      if (device_name::parse(next->name) != expected) break;
      last = expected;
    }
    parts.push_back(begin == last ? begin.to_string() : fmt::format("{}..{}", begin.to_string(), last.index));
    first = next;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Why NCCL can't serve them, whatever was asked for; empty if it can.
std::string_view reason_against_nccl(const communication_case& given) {
  if (!std::ranges::all_of(given.devices, is_gpu)) return "NCCL connects GPUs only";
  if (given.replicas_are_simulated) return "the replicas of a simulation share one thread";
  const auto is_asked_for = given.implementation == communication_implementation::nccl;
  if (given.processes > 1 && given.devices.size() == 1 && !is_asked_for) return "it is the only one of its process";
  if (given.hosts > 1 && is_asked_for && is_emulated(given.devices))
    return "emulated GPUs of several processes meet in the memory of one host";
  std::set<int> physical;
  for (const auto& device : given.devices) physical.insert(*device.gpu);
  if (physical.size() < given.devices.size()) return "some of them are logical devices of one GPU, which NCCL refuses";
  return "";
}

/// The same, with what was asked for and what was built; empty if NCCL serves them.
std::string chosen_against_nccl(const communication_case& given) {
  std::string reason{reason_against_nccl(given)};
  const auto has_nccl = given.nccl_built || is_emulated(given.devices);
  if (given.implementation == communication_implementation::nccl) {
    if (!reason.empty())
      throw invalid_argument_error{
          fmt::format("the implementation \"nccl\" cannot serve {} in {}: {}; use \"auto\"", list_of(given.devices),
                      given.processes > 1 ? fmt::format("{} processes", given.processes) : "one process", reason)};
    if (!has_nccl && (given.devices.size() > 1 || given.processes > 1))
      throw unavailable_error{
          "the implementation \"nccl\" was asked for, but this troupe was built without NCCL; use \"auto\", or build "
          "troupe with NCCL and -DTROUPE_CUDA=ON"};
  }
  if (!reason.empty()) return reason;
  if (given.implementation == communication_implementation::ring) return "\"ring\" was asked for";
  return has_nccl ? "" : "this troupe was built without NCCL";
}

std::string describe_replicas(const communication_plan& plan) {
  const auto count = plan.devices.size();
  const auto where = fmt::format("{} {} on {}", count, count == 1 ? "replica" : "replicas", list_of(plan.devices));
  if (plan.among_replicas == replica_transport::alone) return where + ", which is alone";
  if (plan.among_replicas == replica_transport::nccl)
    return fmt::format("NCCL{}{}, {}", is_emulated(plan.devices) ? " as emulated" : "",
                       plan.nccl_spans_processes
                           ? fmt::format(" over all {} ranks", count * static_cast<std::size_t>(plan.processes))
                           : "",
                       where);
  auto text = count == 1 ? where : "threads in shared memory, " + where;
  if (std::ranges::any_of(plan.devices, is_gpu))
    text += fmt::format(", GPUs through the host's memory ({})", plan.reason_against_nccl);
  return text;
}

std::string describe_processes(const communication_plan& plan) {
  const auto because =
      plan.reason_for_transport.empty() ? std::string{} : fmt::format(" ({})", plan.reason_for_transport);
  const auto hosts = plan.hosts == 1 ? "one host" : fmt::format("{} hosts", plan.hosts);
  const auto over = [&](std::string_view transport) {
    return fmt::format("; {} {}, {} ranks on {}{}", plan.nccl_spans_processes ? "controlled over" : "between processes",
                       transport, plan.processes, hosts, because);
  };
  switch (plan.among_processes) {
    case process_transport::none:
      return "";
    case process_transport::shared_memory:
      return over("shared memory");
    case process_transport::tcp:
      return over("TCP");
  }
  return "";
}

}  // namespace

process_connection connection_between(int processes, int hosts, process_transport_choice choice,
                                      const std::string& difference) {
  if (processes == 1) return {};
  if (choice == process_transport_choice::tcp) return {process_transport::tcp, "it was asked for"};
  const auto asked = choice == process_transport_choice::shared_memory;
  if (hosts == 1) return {process_transport::shared_memory, asked ? "it was asked for" : ""};
  if (asked)
    throw failed_precondition_error{
        fmt::format("shared memory was asked for, but the {} processes can't share any{}{}; ask for \"automatic\" or "
                    "\"tcp\"",
                    processes, difference.empty() ? "" : ": ", difference)};
  return {process_transport::tcp, difference};
}

communication_plan plan_communication(const communication_case& given) {
  if (given.devices.empty())
    throw invalid_argument_error{"a group of no devices has no communicators; name at least one"};
  if (given.processes < 1 || given.hosts < 1 || given.hosts > given.processes)
    throw invalid_argument_error{
        fmt::format("{} processes on {} hosts can't be: expected 1 or more, and no more hosts "
                    "than processes",
                    given.processes, given.hosts)};
  communication_plan plan;
  plan.devices = given.devices;
  plan.processes = given.processes;
  plan.hosts = given.hosts;
  const auto connection = given.between_processes.over == process_transport::none
                              ? connection_between(given.processes, given.hosts)
                              : given.between_processes;
  plan.among_processes = connection.over;
  plan.reason_for_transport = connection.reason;
  const auto against_nccl = chosen_against_nccl(given);
  if (given.devices.size() == 1 && given.processes == 1) return plan;
  plan.among_replicas = against_nccl.empty() ? replica_transport::nccl : replica_transport::threads;
  plan.nccl_spans_processes = given.processes > 1 && given.implementation == communication_implementation::nccl;
  if (std::ranges::any_of(given.devices, is_gpu)) plan.reason_against_nccl = against_nccl;
  return plan;
}

std::string communication_plan::describe() const {
  auto text = describe_replicas(*this) + describe_processes(*this);
  if (std::ranges::any_of(devices, is_gpu) && (devices.size() > 1 || processes > 1))
    text += fmt::format("; reductions and gathers outside of replicas on {}", meeting_device);
  return text;
}

std::vector<replica_device> locate_devices(std::span<const std::string> names) {
  std::vector<replica_device> devices;
  std::set<std::pair<std::string, int>> seen;
  for (const auto& each : names) {
    const auto name = device_name::parse(each);
    if (!name.has_device())
      throw invalid_argument_error{
          fmt::format("\"{}\" names no device; expected a name like \"CPU:0\" or \"GPU:0\"", each)};
    if (!seen.emplace(name.type, name.index).second)
      throw invalid_argument_error{
          fmt::format("\"{}\" is named twice among the devices {}; expected another device for each replica", each,
                      fmt::join(names, ", "))};
    replica_device device{.name = name.device(), .gpu = {}};
    if (name.type == "GPU") {
      auto& gpu = accelerator_of(each);
      device.gpu = gpu.physical_index();
      device.is_emulated = gpu.is_emulated();
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace troupe

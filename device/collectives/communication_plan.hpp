// Who carries the tensors of a strategy's replicas, and where they meet: one decision, made once, before anything is
// connected. communicators.hpp makes what was decided; strategies keep the plan, log it and can be asked for it.
//
// The decision is a function of what a communication_case holds, of nothing else, so it can be tested for machines that
// are not at hand.
//
//   devices of this process        processes  implementation  among its replicas
//   one                            1          auto, ring      alone: nothing is communicated
//   one GPU                        1          nccl            alone
//   CPUs                           any        auto, ring      threads that share memory
//   GPUs, each another one         any        auto            NCCL, emulated for emulated GPUs; without NCCL in this
//                                                             build, or in a simulation: threads
//   GPUs, each another one         any        nccl            NCCL, over the GPUs of all processes
//   GPUs, each another one         any        ring            threads; GPUs copy through the host
//   others, of GPUs                any        auto, ring      threads; GPUs copy through the host
//   others                         any        nccl            an error that says why
//
// Between processes the first replica of each stands for all of its process, with tensors in host memory: over shared
// memory if all processes are on one host, else over TCP, unless the program chooses. Not so where NCCL spans them all:
// it finds its own way, and there the processes only compare what they are about to call. Semantics:
// examples/reference/semantics.md 3.1.
#pragma once

#include <troupe/device/collectives/communication_options.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

enum class replica_transport : std::uint8_t { alone, threads, nccl };
enum class process_transport : std::uint8_t { none, shared_memory, tcp };
/// What a program may ask for; TCP goes on one host, too.
enum class process_transport_choice : std::uint8_t { automatic, shared_memory, tcp };

/// How processes are connected, and why so.
struct process_connection {
  process_transport over = process_transport::none;
  /// "they are on different machines"; empty where nothing was to be decided.
  std::string reason;
};

/// A replica's device, and what of it matters to communication.
struct replica_device {
  std::string name;
  /// Which GPU of the machine it is, or is a part of; nothing for a CPU.
  std::optional<int> gpu;
  bool is_emulated = false;
};

/// All that the decision depends on.
struct communication_case {
  /// One for each replica of this process.
  std::vector<replica_device> devices;
  int processes = 1;
  /// On which the processes are. Processes that can't share memory count as if they were on different hosts.
  int hosts = 1;
  /// As decided when they were connected.
  process_connection between_processes;
  communication_implementation implementation = communication_implementation::automatic;
  bool nccl_built = false;
  /// They are fibers of one thread, which can't wait for GPUs.
  bool replicas_are_simulated = false;
};

struct communication_plan {
  std::vector<replica_device> devices;
  replica_transport among_replicas = replica_transport::alone;
  process_transport among_processes = process_transport::none;
  /// Why that one; may be empty.
  std::string reason_for_transport;
  /// Tensors go from GPU to GPU of other processes, too; what connects the processes only controls that.
  bool nccl_spans_processes = false;
  int processes = 1;
  int hosts = 1;
  /// Why GPUs, if there are any, copy through the host; otherwise empty.
  std::string reason_against_nccl;
  /// Where the values of several replicas are brought to when no replica is there to work on them: reductions and
  /// gathers in cross-replica context.
  std::string meeting_device = "CPU:0";

  bool copies_through_host(const replica_device& device) const {
    return among_replicas == replica_transport::threads && device.gpu.has_value();
  }
  /// "threads in shared memory, 4 replicas on CPU:0..3; between processes TCP, 2 ranks on 2 hosts".
  std::string describe() const;
};

/// @throws invalid_argument_error for no devices, and for an implementation that these devices or processes can't have;
/// unavailable_error for NCCL in a build without it.
communication_plan plan_communication(const communication_case& given);

/// What connects processes on so many hosts. `difference`: why they can't share memory, if they can't.
/// @throws failed_precondition_error when shared memory was asked for and can't be.
process_connection connection_between(int processes, int hosts,
                                      process_transport_choice choice = process_transport_choice::automatic,
                                      const std::string& difference = {});

/// The devices of these names. @throws invalid_argument_error for a name that is none, or one that is there twice; for
/// GPUs as accelerators.hpp says.
std::vector<replica_device> locate_devices(std::span<const std::string> names);

}  // namespace troupe

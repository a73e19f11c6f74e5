// What troupe's actors say to each other. Every struct here is the content of a `wire` (see wire.hpp): an aggregate of
// encodable members, so the codec needs no further words.
//
// A protocol number in the handshake refuses peers that would misread these; raise it when a struct changes.
#pragma once

#include <troupe/actors/fibers/open_waits.hpp>
#include <troupe/actors/functions/function_registry.hpp>
#include <troupe/actors/messages/task.hpp>
#include <troupe/actors/values/value.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/kernels/optimizer.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace troupe {

inline constexpr std::uint32_t protocol_number = 11;

// --- coordinator and worker -----------------------------------------------------------------------------------------

/// One admission of one worker by one coordinator. Messages of another session are refused (M-2).
using session_id = std::uint64_t;
using closure_id = std::uint64_t;
using resource_id = std::uint64_t;

/// What an argument of a closure stands for: a value, or the worker's own copy of a per-worker resource.
struct dependency {
  resource_id resource = 0;
  value content;
};

/// One closure on its way to a worker. With `builds` set, its result stays there as that resource.
struct closure_order {
  closure_id id = 0;
  resource_id builds = 0;
  /// Counts the closures that a worker is sent in a session, from 1; 0: it builds a resource.
  std::uint64_t number = 0;
  /// How much is left of the closure's time as it is sent, and on the worker's own clock, from its arrival, when that
  /// is over; 0: it has no limit.
  std::int64_t deadline_ns = 0;
  function_id function;
  value arguments;
  std::vector<dependency> dependencies;
};

/// A closure that a member other than the chief schedules.
struct closure_submission {
  function_id function;
  value arguments;
  /// Results of closures that it has scheduled before.
  std::vector<value> inputs;
  std::int64_t limit_ns = 0;
  int priority = 0;
  int worker = -1;
  /// How long it may wait for room in the chief's queue.
  std::int64_t queue_limit_ns = 0;
};

struct run_orders {
  std::vector<closure_order> orders;
};

struct cancel_orders {
  std::vector<closure_id> closures;
  std::vector<resource_id> released;
  status why;
};

struct closure_outcome {
  closure_id id = 0;
  status ended;
  value result;
};

/// `session_ended`: the worker had to give its session up and needs another admission.
struct run_outcomes {
  std::vector<closure_outcome> outcomes;
  status session_ended;
  /// From the worker's desk, while the worker is in a closure: what follows says nothing.
  bool by_desk = false;
  /// Closures of this worker that wait for other closures now: they take no place on it meanwhile.
  std::uint32_t waiting = 0;
};

/// Orders that a coordinator wants back, unless the worker has begun them.
struct order_recall {
  /// Counts the recalls of a session, from 1.
  std::uint64_t serial = 0;
  /// Of the orders, ascending.
  std::vector<std::uint64_t> numbers;
  /// Nobody will run them: they were cancelled.
  bool cancelled = false;
};

/// What becomes of them. What is in neither list has begun, or ended.
struct recalled_orders {
  /// The worker will never begin these, ascending.
  std::vector<std::uint64_t> given;
  /// These are under way to it, and come.
  std::vector<std::uint64_t> kept;
  /// Its thread is in a closure. With each message it says of which recall it has heard.
  bool busy = false;
};

/// What a closure that a worker has begun, or holds, does now.
struct closure_activity {
  closure_id id = 0;
  /// Otherwise it waits for its turn.
  bool begun = false;
  /// For what it waits; empty: it computes.
  std::string awaited;
  std::int64_t time_ns = 0;
};

/// Of more closures a worker does not tell.
inline constexpr std::size_t closure_activities_max = 64;

/// What a coordinator tells a worker at its admission.
struct session_terms {
  session_id session = 0;
  int worker = 0;
  /// Closures that run (as fibers) at once; more wait.
  std::uint32_t slots = 1;
};

/// What a coordinator tells servers when a worker is lost: of the sessions below `horizon` only these go on.
struct session_fence {
  session_id horizon = 0;
  std::vector<session_id> live;
};

// --- variables ------------------------------------------------------------------------------------------------------

/// One shard of a variable on one life of one server.
struct shard_address {
  int server = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t shard = 0;
  auto operator<=>(const shard_address&) const = default;
};

/// Creates a shard, unless there is one of that number, which the chief chooses and uses once. `slots` are optimizer
/// slots by name, when it is restored.
struct shard_order {
  std::uint64_t shard = 0;
  std::string name;
  tensor initial;
  std::map<std::string, tensor> slots;
  std::int64_t step = 0;
  /// Of the server: where all of it is kept.
  std::string device = "CPU:0";
};

struct shard_orders {
  std::vector<shard_order> orders;
};

/// Shards of one server, by their numbers.
using shard_numbers = std::vector<std::uint64_t>;

enum class operation_kind : std::uint8_t {
  read,
  assign,
  assign_add,
  assign_subtract,
  gather_rows,
  scatter_update,
  scatter_add,
  scatter_subtract,
  apply_gradient,
  call,
  snapshot,
  describe,
};

/// One operation on a shard. `sequence` numbers the operations of a client, so that a repetition is recognised (V-1,
/// variable_client.hpp).
struct shard_operation {
  std::uint64_t sequence = 0;
  operation_kind kind = operation_kind::read;
  tensor operand;
  std::vector<std::int64_t> rows;
  optimizer rule;
  function_id function;
  value arguments;
};

/// A client of shards, and one of its links to one shard, in the order of their making (V-1).
using client_id = std::uint64_t;
using link_number = std::uint64_t;

/// `first_open`: the client sends nothing again that has a number below it. `incarnation` and `shard`: whom it is meant
/// for (M-2). `session`: of the worker whose closures send it, 0 of others (C-3).
struct operation_batch {
  std::uint64_t first_open = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t shard = 0;
  session_id session = 0;
  std::vector<shard_operation> operations;
};

/// `content`: what was read, or nothing. `slots` and `step`: only of a snapshot, and of a description, whose slots are
/// empty tensors of the right dtype.
struct operation_outcome {
  status ended;
  tensor content;
  std::map<std::string, tensor> slots;
  std::int64_t step = 0;
};

/// `refused`: none of the batch's operations was applied, nor would be if it came again. It can't be read, or its
/// session is over.
struct outcome_batch {
  status refused;
  std::vector<operation_outcome> outcomes;
};

// --- members --------------------------------------------------------------------------------------------------------

/// Who a process is. `incarnation` is new for each start of a process, since node ids and actor ids can repeat.
struct member_identity {
  std::uint32_t protocol = protocol_number;
  task_id task;
  std::uint64_t incarnation = 0;
  std::uint64_t build_id = 0;
  std::vector<std::string> functions;
  std::string host;
  std::int64_t process = 0;
};

/// How many tasks each job of the cluster has.
using job_sizes = std::map<std::string, int>;

/// What the chief tells a member when it takes it in: who it thinks it is, how long silence may last, who else there
/// is.
struct adoption {
  member_identity chief;
  task_id task;
  std::int64_t chief_silence_max_ns = 0;
  job_sizes jobs;
};

/// A member that ends although its chief has not told it to.
struct departure {
  task_id task;
  std::uint64_t incarnation = 0;
  status why;
};

enum class member_presence : std::uint8_t { absent, present };

struct member_record {
  task_id task;
  task_address address;
  std::uint64_t incarnation = 0;
  member_presence state = member_presence::absent;
  /// Why it is absent.
  status why;
};

/// Who is in. M-1: an epoch never decreases. Members are told of servers only, and after the first time only of those
/// that have changed.
struct cluster_view {
  std::uint64_t epoch = 0;
  std::vector<member_record> members;

  const member_record* find(const task_id& task) const;
  /// What is newer replaces what was known.
  void take(const cluster_view& news);
};

/// What an actor of the application takes, as names that processes can compare (offers/actor_interface.hpp).
using actor_interface = std::vector<std::string>;

// --- groups ---------------------------------------------------------------------------------------------------------

/// A process that wants to be part of a group.
struct group_candidate {
  task_id task;
  /// The group that it was part of before; 0: it is new.
  std::uint64_t generation = 0;
  /// Equal for processes that can share memory.
  std::string host_identity;
};

/// A complete group: a process's rank is its place in the list.
struct group_roster {
  std::uint64_t generation = 0;
  std::vector<group_candidate> members;
  /// A word that no other group has.
  std::string token;
};

// --- open waits -----------------------------------------------------------------------------------------------------

/// What a process says of its own waits.
struct process_waits {
  task_id task;
  std::string host;
  std::int64_t process = 0;
  /// The longest first.
  std::vector<open_wait> waits;
  /// How many more there are.
  std::uint64_t more = 0;
  /// Why it has told nothing; ok: it has.
  status silent;
};

/// Of more waits a process does not tell.
inline constexpr std::size_t open_waits_max = 256;

/// A closure of the chief's whose end somebody waits for, and which a worker holds.
struct awaited_closure {
  /// As in open_wait::closure.
  std::uint64_t closure = 0;
  closure_id id = 0;
  int worker = 0;
};

/// Of more of them a coordinator does not tell.
inline constexpr std::size_t awaited_closures_max = 1024;

/// What all processes say. The chief's own is the first, if there is a chief.
struct cluster_waits {
  std::vector<process_waits> processes;
  std::vector<awaited_closure> closures;
  /// What the coordinator says of those that have not ended.
  std::string outstanding;
};

// --- events ---------------------------------------------------------------------------------------------------------

enum class event_kind : std::uint8_t {
  member_joined,
  member_lost,
  closures_requeued,
  closure_failed,
  generation_cancelled,
  resources_rebuilt,
  worker_dismissed,
};

/// A state change of the cluster, for whoever listens at the event bus.
struct event {
  event_kind kind = event_kind::member_joined;
  task_id task;
  std::uint64_t epoch = 0;
  /// How many closures or resources it is about.
  std::uint64_t count = 0;
  status why;
  /// Of the member, when it joined or was lost.
  std::uint64_t incarnation = 0;
  /// Some of the functions whose closures it is about.
  std::vector<std::string> functions;
};

std::string to_string(event_kind kind);

}  // namespace troupe

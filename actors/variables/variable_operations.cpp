#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/has_ended.hpp>
#include <troupe/actors/variables/variable_client.hpp>
#include <troupe/actors/variables/variable_operations.hpp>

#include <caf/send.hpp>

#include <utility>

namespace troupe {

namespace {

const fiber_local<client_ptr> client_in_use;

const status cluster_has_ended{status_code::failed_precondition,
                               "the cluster of these variables has ended: use them while it is there"};

}  // namespace

using_client::using_client(client_ptr client) : before_(std::exchange(*client_in_use, std::move(client))) {}

using_client::~using_client() { *client_in_use = std::move(before_); }

client_ptr using_client::current() {
  if (auto* const closure = closure_environment::current()) return closure->variables_of_replicas();
  return *client_in_use;
}

namespace {

std::vector<operation_outcome> perform_in_fiber(closure_environment& here,
                                                const std::shared_ptr<operation_group>& group) {
  // One that has heard of its cancellation and goes on must not write any more: its session may be another's.
  if (fiber_host::cancelled()) fiber_host::throw_if_cancelled();
  const auto point = wait_point::make();
  group->done = [point] { point->complete(); };
  here.variables().submit(group);
  point->wait_until(never, "variable operations");
  return std::move(group->outcomes);
}

std::vector<operation_outcome> perform_in_thread(const client_ptr& client, std::vector<shard_request> requests,
                                                 duration limit) {
  return started_operations{client, std::move(requests), limit}.wait();
}

}  // namespace

started_operations::started_operations(const client_ptr& client, std::vector<shard_request> requests, duration limit)
    : group_(std::make_shared<operation_group>(std::move(requests), limit)), ended_(std::make_shared<completion>()) {
  if (has_ended(*client)) throw_status(cluster_has_ended);
  group_->done = [ended = ended_] { ended->set(); };
  // The group keeps its own deadline; this one is for a client actor that has ended and answers nobody.
  constexpr auto grace = std::chrono::seconds{1};
  deadline_ = later(later(current_time(), limit), grace);
  caf::anon_send(*client, perform_atom_v, group_);
}

std::vector<operation_outcome> started_operations::wait() {
  try {
    ended_->wait_until(deadline_, "variable operations");
  } catch (const deadline_exceeded_error& late) {
    throw_status(late.get_status().wrap(cluster_has_ended.code(), cluster_has_ended.message()));
  }
  return std::move(group_->outcomes);
}

std::vector<operation_outcome> perform(const client_ptr& client, std::vector<shard_request> requests, duration limit) {
  if (requests.empty()) return {};
  if (auto* const here = closure_environment::current())
    return perform_in_fiber(*here, std::make_shared<operation_group>(std::move(requests), limit));
  if (!client && *client_in_use) return perform_in_thread(*client_in_use, std::move(requests), limit);
  if (!client)
    throw failed_precondition_error{
        "a variable was used by a thread that is neither a closure of a worker nor part of the program that made the "
        "variable"};
  return perform_in_thread(client, std::move(requests), limit);
}

}  // namespace troupe

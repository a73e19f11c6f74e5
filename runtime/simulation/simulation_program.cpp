// The chief's program in a simulation: closures, variables and questions, none of which blocks, and programs in fibers.
#include <troupe/actors/values/wire.hpp>
#include <troupe/actors/variables/variable_client.hpp>
#include <troupe/runtime/closures/nested_closures.hpp>
#include <troupe/runtime/cluster/with_basp_broker.hpp>
#include <troupe/runtime/simulation/simulated_program.hpp>
#include <troupe/runtime/simulation/simulation_implementation.hpp>

#include <caf/send.hpp>
#include <fmt/format.h>

namespace troupe {

namespace {

/// Numbers of shards that no strategy has made.
constexpr auto own_shards = std::uint64_t{1} << 63;

/// For questions that the kit asks on its own behalf.
constexpr duration question_limit = std::chrono::seconds{10};

/// The broker's own handle of an actor of another process; null: there is no link to it.
caf::strong_actor_ptr proxy_of(caf::io::basp_broker& broker, const caf::actor_control_block& whom) {
  const auto link = broker.instance.tbl().lookup_direct(whom.node());
  if (!link) return nullptr;
  broker.set_context(*link);
  return broker.proxies().get_or_put(whom.node(), whom.id());
}

template <class T>
T await(simulation& self, const eventual<T>& answer, const std::string& what) {
  if (!self.run_until([&] { return answer.ended(); }, question_limit + question_limit))
    throw deadline_exceeded_error{what + " got no answer: the chief is frozen"};
  if (!answer.problem().ok()) throw_status(answer.problem().wrap(what));
  return *answer;
}

}  // namespace

// --- closures -------------------------------------------------------------------------------------------------------

std::shared_ptr<closure> simulation::enqueue(detail::packed_closure packed, schedule_options options) {
  const auto& chief = implementation_->running_chief();
  // A full queue is an error at once: a thread that waited here would wait for itself.
  options.queue_limit = duration::zero();
  auto scheduled = detail::make_closure(std::move(packed), options);
  // A real program's schedule would throw the pending error here, and its closure would not run.
  if (chief.queue->error_pending) {
    scheduled->finish({status_code::cancelled, "not run: an earlier closure's error waits for join() or done()"});
  } else if (chief.queue->push(scheduled)) {
    caf::anon_send(chief.coordinator, submit_atom_v);
  }
  return scheduled;
}

void simulation::run_until_ended(const closure& scheduled, duration limit) {
  if (!run_until([&] { return scheduled.ended(); }, limit))
    throw deadline_exceeded_error{fmt::format("the remote value of {} was not ready within {} ms of virtual time",
                                              to_string(scheduled.function), in_milliseconds(limit))};
}

std::shared_ptr<per_worker_resource> simulation::create_resource(detail::packed_closure packed) {
  if (!packed.inputs.empty())
    throw invalid_argument_error{
        "a per-worker value can't be built from remote or per-worker values: fetch them first"};
  const auto id = ++implementation_->last_resource;
  const auto made = ask<caf::ok_atom>(
      coordinator(), question_limit, resource_atom_v,
      wire<closure_order>{
          {.builds = id, .function = std::move(packed.function), .arguments = std::move(packed.arguments)}});
  await(*this, made, "making a per-worker value");
  return std::make_shared<per_worker_resource>(id, owner_of_closures());
}

bool simulation::error_pending() const { return implementation_->running_chief().queue->error_pending; }

eventual<bool> simulation::join() {
  constexpr duration limit = std::chrono::hours{24};
  return ask<bool>(coordinator(), limit, drained_atom_v, std::int64_t{limit.count()});
}

eventual<bool> simulation::done() { return ask<bool>(coordinator(), std::chrono::hours{24}, idle_atom_v); }

eventual<caf::ok_atom> simulation::retire(const status& why) {
  return ask<caf::ok_atom>(membership(), std::chrono::minutes{1}, retire_atom_v, wire<status>{why});
}

member_actor simulation::reach(const task_id& task) {
  implementation_->running_host(task);
  const auto& address = implementation_->addresses.at(task);
  const auto& dialer = implementation_->running_chief().dialer;
  return await(*this, ask<member_actor>(dialer, question_limit, dial_atom_v, address.host, address.port),
               "dialling " + to_string(task));
}

// --- programs, and actors of other tasks ----------------------------------------------------------------------------

cluster& simulation::chief_cluster() {
  implementation_->running_chief();
  return *implementation_->chief_cluster;
}

eventual<caf::ok_atom> simulation::start_program(std::function<void()> program, std::size_t stack_bytes) {
  auto& chief = implementation_->process(chief_task);
  return start_program_in(
      chief, std::move(program),
      {.application = implementation_->chief.application, .stack_bytes = stack_bytes, .on_failure = {}});
}

void simulation::find_from_chief(const caf::strong_actor_ptr& whom,
                                 std::function<void(const caf::strong_actor_ptr& found, const status& why)> done) {
  const auto& chief = implementation_->running_chief();
  auto* const at = whom ? implementation_->all.of_node(whom->node()) : nullptr;
  if (at == nullptr || whom->get() == nullptr || whom->home_system != &at->process->system() ||
      at->name == host_of(chief_task))
    return done(whom, {});
  // Others reach an actor that its own registry knows.
  at->process->system().registry().put(whom->id(), whom);
  auto& system = implementation_->process(chief_task).system();
  with_basp_broker(
      system, basp_broker_of(system), [=, this, dialer = chief.dialer, host = at->name](caf::io::basp_broker& broker) {
        if (auto found = proxy_of(broker, *whom)) return done(found, {});
        spawn(chief_task, [=](caf::event_based_actor* self) {
          self->request(dialer, question_limit, dial_atom_v, host, members_port)
              .then(
                  [=](const member_actor&) {
                    with_basp_broker(self->system(), basp_broker_of(self->system()), [=](caf::io::basp_broker& linked) {
                      if (auto found = proxy_of(linked, *whom)) return done(found, {});
                      done(nullptr, {status_code::unavailable, "the link to " + host + " broke"});
                    });
                  },
                  [=](caf::error& failed) { done(nullptr, status_of(failed)); });
        });
      });
}

// --- variables ------------------------------------------------------------------------------------------------------

tensor_variable simulation::make_variable(std::string name, const tensor& initial, int server) {
  const task_id task{"ps", server};
  const auto incarnation = implementation_->process(task).incarnation();
  const auto what = fmt::format("making variable \"{}\" on {}", name, to_string(task));
  const auto door = reach(task);
  const auto handle = await(*this, ask<parameter_server_actor>(door, question_limit, server_atom_v), what);
  const auto number = own_shards + ++implementation_->last_shard[incarnation];
  shard_orders orders;
  orders.orders.push_back({number, name, initial, {}, 0});
  await(*this,
        ask<caf::ok_atom>(handle, question_limit, create_atom_v, std::uint64_t{incarnation},
                          wire<shard_orders>{std::move(orders)}),
        what);
  auto record = std::make_shared<variable_record>(std::move(name), initial.get_dtype(), initial.get_shape());
  const auto rows = initial.rank() == 0 ? 1 : initial.get_shape()[0];
  record->set_shards({{{server, incarnation, number}, 0, rows}});
  return {std::move(record), client()};
}

std::shared_ptr<operation_group> simulation::start(planned_operation plan, duration limit) {
  auto group = std::make_shared<operation_group>(std::move(plan.requests), limit);
  caf::anon_send(*client(), perform_atom_v, group);
  return group;
}

tensor simulation::read(const tensor_variable& from, duration limit) {
  const auto plan = from.plan_read();
  const auto group = start(plan, limit);
  if (!run_until([&] { return group->missing == 0; }, limit + question_limit))
    throw deadline_exceeded_error{
        fmt::format("reading variable \"{}\" got no answer: the chief is frozen", from.name())};
  for (const auto& outcome : group->outcomes)
    if (!outcome.ended.ok()) throw_status(outcome.ended);
  return plan.combine(group->outcomes);
}

}  // namespace troupe

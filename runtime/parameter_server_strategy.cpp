#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>

#include <fmt/format.h>

#include <mutex>

namespace troupe {

struct parameter_server_strategy::shared {
  shared(strategy_options chosen, int server_count)
      : options(std::move(chosen)), servers(options.where, server_count) {}

  strategy_options options;
  std::mutex mutex;
  server_allocator servers;
  std::map<std::string, std::shared_ptr<variable_record>> variables;
};

parameter_server_strategy::parameter_server_strategy(troupe::cluster& cluster, strategy_options options)
    : cluster_(&cluster) {
  if (cluster.worker_count() < 1 || cluster.server_count() < 1)
    throw invalid_argument_error{fmt::format(
        "a parameter server strategy needs at least one worker and one parameter server, but the cluster has "
        "{} and {}",
        cluster.worker_count(), cluster.server_count())};
  shared_ = std::make_shared<shared>(std::move(options), cluster.server_count());
}

tensor_variable parameter_server_strategy::variable(std::string name, const tensor& initial) {
  return {create(std::move(name), initial, 1), client()};
}

sharded_variable parameter_server_strategy::sharded(std::string name, const tensor& initial,
                                                    const partitioner& shards) {
  if (initial.rank() == 0)
    throw invalid_argument_error{
        fmt::format("variable \"{}\" is a scalar, which can't be split: use variable()", name)};
  const auto& chosen = shards ? shards : shared_->options.shards;
  const auto count = chosen ? chosen(initial.get_shape(), initial.get_dtype())
                            : fixed_shards_partitioner(server_count())(initial.get_shape(), initial.get_dtype());
  return {create(std::move(name), initial, count), client()};
}

const std::map<std::string, std::shared_ptr<variable_record>>& parameter_server_strategy::variables() const {
  return shared_->variables;
}

std::shared_ptr<variable_record> parameter_server_strategy::create(std::string name, const tensor& initial,
                                                                   std::int64_t shard_count) {
  if (name.empty()) throw invalid_argument_error{"a variable needs a name that is not empty"};
  auto record = std::make_shared<variable_record>(std::move(name), initial.get_dtype(), initial.get_shape());
  {
    const std::scoped_lock lock{shared_->mutex};
    if (!shared_->variables.emplace(record->name, record).second)
      throw already_exists_error{fmt::format("there is a variable \"{}\" already: names are unique", record->name)};
  }
  try {
    recreate(
        *record,
        [&](std::int64_t begin, std::int64_t rows) {
          return shard_content{shard_count == 1 ? initial : initial.slice(begin, begin + rows), {}, 0};
        },
        shard_count);
  } catch (...) {
    const std::scoped_lock lock{shared_->mutex};
    shared_->variables.erase(record->name);
    throw;
  }
  return record;
}

namespace {

/// The cluster with a server that may be about to join for the first time. One that was lost is not waited for.
cluster_view joined(cluster& cluster, const task_id& server, duration limit) {
  auto view = cluster.view();
  const auto& record = *view.find(server);
  if (record.state == presence::present || record.incarnation != 0) return view;
  return cluster.wait_for({server}, limit);
}

/// The server's actor, over this process's own link to it.
parameter_server_actor reach(const cluster& cluster, const member_record& server, duration limit) {
  if (server.state == presence::absent) throw_status(server.why.wrap(status_code::unavailable, to_string(server.task)));
  member_actor member;
  ask(
      cluster.system(), cluster.dialer(), limit, "dialling " + to_string(server.task),
      [&](member_actor& answer) { member = answer; }, dial_atom_v, server.address.host, server.address.port);
  parameter_server_actor handle;
  ask(
      cluster.system(), member, limit, "asking for the variables of " + to_string(server.task),
      [&](parameter_server_actor& answer) { handle = answer; }, server_atom_v);
  return handle;
}

}  // namespace

void parameter_server_strategy::recreate(
    variable_record& record, const std::function<shard_content(std::int64_t begin, std::int64_t rows)>& part,
    std::int64_t shard_count) {
  const auto limit = shared_->options.creation_limit;
  const auto rows = split_rows(record.extents.rank() == 0 ? 1 : record.extents[0], shard_count);
  shard_list shards;
  std::int64_t begin = 0;
  for (const auto count : rows) {
    auto content = part(begin, count);
    int server = 0;
    {
      const std::scoped_lock lock{shared_->mutex};
      server = shared_->servers.next(static_cast<std::int64_t>(content.initial.size_bytes()));
    }
    const auto place = *joined(*cluster_, {"ps", server}, limit).find({"ps", server});
    const auto handle = reach(*cluster_, place, limit);
    wire<shard_order> order{{record.name, std::move(content.initial), std::move(content.slots), content.step}};
    if (handle.node() != cluster_->system().node()) order.seal();
    ask(
        cluster_->system(), handle, limit,
        fmt::format("making variable \"{}\" on {}", record.name, to_string(place.task)),
        [&](std::uint64_t number) {
          shards.push_back({{server, place.incarnation, number}, begin, count});
        },
        create_atom_v, std::move(order));
    begin += count;
  }
  record.set_shards(std::move(shards));
}

}  // namespace troupe

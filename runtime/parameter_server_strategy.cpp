#include <troupe/device/base/device_name.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>
#include <troupe/runtime/shard_construction.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace troupe {

namespace {

/// By its normal name. Whether the servers have such a one, they say when they shall keep something there.
std::string checked_server_device(const std::string& named) {
  const auto name = device_name::parse(named);
  if (name.has_device() && name.device() == name.to_string()) return name.device();
  throw invalid_argument_error{
      fmt::format("the server device \"{}\" is none that each server can have; expected a name like \"GPU:0\"", named)};
}

}  // namespace

struct parameter_server_strategy::shared {
  shared(troupe::cluster& cluster, strategy_options chosen)
      : options(std::move(chosen)), servers(options.where, cluster.server_count()), disposal(cluster) {}

  int next_server(const tensor& content, const std::vector<bool>& usable) {
    const std::scoped_lock lock{mutex};
    return servers.next(static_cast<std::int64_t>(content.size_bytes()), usable);
  }
  /// The mutex is held.
  void take_addresses(const variable_record& record, const shard_list& shards, std::vector<shard_address>& addresses) {
    for (const auto& shard : shards) {
      addresses.push_back(shard.where);
      servers.give_back(shard.where.server, static_cast<std::int64_t>(record.bytes_of_rows(shard.rows)));
    }
  }

  strategy_options options;
  std::mutex mutex;
  server_allocator servers;
  /// One without shards is being made: its name is taken, and it is not there yet.
  std::map<std::string, std::shared_ptr<variable_record>> variables;
  shard_disposal disposal;
};

parameter_server_strategy::parameter_server_strategy(troupe::cluster& cluster, strategy_options options)
    : cluster_(cluster.reference()) {
  options.server_device = checked_server_device(options.server_device);
  shared_ = std::make_shared<shared>(cluster, std::move(options));
}

tensor_variable parameter_server_strategy::variable(std::string name, const tensor& initial) {
  return {create(std::move(name), initial, 1), client()};
}

sharded_variable parameter_server_strategy::sharded(std::string name, const tensor& initial,
                                                    const partitioner& shards) {
  check_for_servers();
  if (initial.rank() == 0)
    throw invalid_argument_error{
        fmt::format("variable \"{}\" is a scalar, which can't be split: use variable()", name)};
  const auto& chosen = shards ? shards : shared_->options.shards;
  const auto count = chosen ? chosen(initial.get_shape(), initial.get_dtype())
                            : fixed_shards_partitioner(server_count())(initial.get_shape(), initial.get_dtype());
  return {create(std::move(name), initial, count), client()};
}

std::vector<tensor_variable> parameter_server_strategy::create_variables(
    std::vector<std::pair<std::string, tensor>> initial) {
  std::vector<recreated_variable> wanted;
  std::vector<tensor_variable> result;
  wanted.reserve(initial.size());
  for (auto& [name, content] : initial) {
    auto record = std::make_shared<variable_record>(std::move(name), content.get_dtype(), content.get_shape(),
                                                    shared_->options.server_device);
    result.emplace_back(record, client());
    wanted.push_back({std::move(record), 1, [whole = std::move(content)](std::int64_t, std::int64_t) {
                        return shard_content{whole, {}, 0};
                      }});
  }
  create(wanted);
  return result;
}

std::shared_ptr<variable_record> parameter_server_strategy::create(std::string name, const tensor& initial,
                                                                   std::int64_t shard_count) {
  auto record = std::make_shared<variable_record>(std::move(name), initial.get_dtype(), initial.get_shape(),
                                                  shared_->options.server_device);
  const recreated_variable wanted{
      record, shard_count, [&](std::int64_t begin, std::int64_t rows) {
        return shard_content{shard_count == 1 ? initial : initial.slice(begin, begin + rows), {}, 0};
      }};
  create({&wanted, 1});
  return record;
}

void parameter_server_strategy::check_for_servers() const {
  if (server_count() < 1)
    throw failed_precondition_error{
        "this cluster has no parameter server, and variables need one: start it with --ps 1, --troupe-servers 1, or "
        "\"ps\" in TF_CONFIG"};
}

/// Takes the names first: two threads that make a variable of one name can't both succeed.
void parameter_server_strategy::create(std::span<const recreated_variable> wanted) {
  if (!wanted.empty()) check_for_servers();
  std::vector<std::string> taken;
  const auto free_names = [&] {
    const std::scoped_lock lock{shared_->mutex};
    for (const auto& name : taken) shared_->variables.erase(name);
  };
  try {
    for (const auto& [record, _, part] : wanted) {
      if (record->name.empty()) throw invalid_argument_error{"a variable needs a name that is not empty"};
      const std::scoped_lock lock{shared_->mutex};
      if (!shared_->variables.emplace(record->name, record).second)
        throw already_exists_error{fmt::format("there is a variable \"{}\" already: names are unique", record->name)};
      taken.push_back(record->name);
    }
    make_shards(wanted, {}, shared_->options.window_bytes);
  } catch (...) {
    free_names();
    throw;
  }
}

void parameter_server_strategy::remove(const std::string& name) {
  (void)get_cluster();
  std::vector<shard_address> shards;
  {
    const std::scoped_lock lock{shared_->mutex};
    const auto found = shared_->variables.find(name);
    if (found == shared_->variables.end() || found->second->shards()->empty())
      throw not_found_error{fmt::format("there is no variable \"{}\"", name)};
    shared_->take_addresses(*found->second, *found->second->shards(), shards);
    shared_->variables.erase(found);
  }
  shared_->disposal.dispose(std::move(shards));
}

std::map<std::string, std::shared_ptr<variable_record>> parameter_server_strategy::variables() const {
  const std::scoped_lock lock{shared_->mutex};
  auto made = shared_->variables;
  std::erase_if(made, [](const auto& each) { return each.second->shards()->empty(); });
  return made;
}

void parameter_server_strategy::recreate(std::span<const recreated_variable> wanted, std::size_t window_bytes) {
  const auto view = cluster_->view();
  std::vector<bool> usable;
  usable.reserve(static_cast<std::size_t>(server_count()));
  for (int server = 0; server < server_count(); ++server)
    usable.push_back(view.find({"ps", server})->state == member_presence::present);
  if (std::find(usable.begin(), usable.end(), true) == usable.end())
    throw_status(view.find({"ps", 0})->why.wrap(
        status_code::unavailable, "no parameter server is there to hold the variables; wait until one has come back"));
  make_shards(wanted, usable, window_bytes);
}

void parameter_server_strategy::make_shards(std::span<const recreated_variable> wanted, const std::vector<bool>& usable,
                                            std::size_t window_bytes) {
  shard_construction construction{*cluster_, shared_->disposal, shared_->options.creation_limit, window_bytes};
  std::vector<shard_list> made;
  made.reserve(wanted.size());
  for (const auto& [record, shard_count, part] : wanted) {
    auto& shards = made.emplace_back();
    std::int64_t begin = 0;
    for (const auto rows : split_rows(record->extents.rank() == 0 ? 1 : record->extents[0], shard_count)) {
      auto content = part(begin, rows);
      const auto server = shared_->next_server(content.initial, usable);
      shards.push_back({construction.add(server, *record, std::move(content)), begin, rows});
      begin += rows;
    }
  }
  construction.finish();
  std::vector<shard_address> replaced;
  {
    const std::scoped_lock lock{shared_->mutex};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto& record = wanted[i].record;
      const auto known = shared_->variables.find(record->name);
      // One that was removed meanwhile has no use for them.
      const auto is_known = known != shared_->variables.end() && known->second == record;
      const auto old = is_known ? record->replace_shards(std::move(made[i]))
                                : std::make_shared<const shard_list>(std::move(made[i]));
      shared_->take_addresses(*record, *old, replaced);
    }
  }
  shared_->disposal.dispose(std::move(replaced));
}

}  // namespace troupe

#include <troupe/actors/variables/variable_client.hpp>

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>

namespace troupe {

namespace {

status lost(const member_record& record, std::uint64_t wanted) {
  const auto name = to_string(record.task);
  if (record.state == presence::absent)
    return record.why.wrap(status_code::unavailable,
                           fmt::format("{} is lost with the variables it held; wait for it to come back and restore a "
                                       "checkpoint",
                                       name));
  if (wanted != record.incarnation)
    return {status_code::unavailable,
            fmt::format("{} was restarted and lost the variables it held; restore a checkpoint", name)};
  return {};
}

}  // namespace

closure_environment* closure_environment::current() {
  return dynamic_cast<closure_environment*>(fiber_host::current_environment());
}

variable_client::variable_client(caf::scheduled_actor* self, timers& clock, dialer_actor dialer,
                                 variable_client_options options, fiber_host* fibers)
    : self_(self),
      clock_(clock),
      requests_(self, clock),
      dialer_(std::move(dialer)),
      options_(options),
      fibers_(fibers) {
  // Zero is for clients beside the server; two clients must not share a number, or a shard would mix up their retries.
  static thread_local std::mt19937_64 numbers{std::random_device{}()};
  do client_ = numbers();
  while (client_ == 0);
}

variable_client::~variable_client() {
  const status ended{status_code::cancelled, "the actor that sent this operation has ended"};
  for (auto& [_, server] : servers_) fail(server, ended);
}

// --- operations -----------------------------------------------------------------------------------------------------

void variable_client::submit(const std::shared_ptr<operation_group>& group) {
  if (group->requests.empty()) return group->done();
  group->deadline = clock_.after(group->limit, [this, group] {
    for (std::size_t i = 0; i < group->requests.size(); ++i)
      finish({group, i, 0},
             {.ended = {status_code::deadline_exceeded,
                        fmt::format("an operation on /job:ps/task:{} did not end within {} ms",
                                    group->requests[i].where.server,
                                    std::chrono::duration_cast<std::chrono::milliseconds>(group->limit).count())}});
  });
  for (std::size_t i = 0; i < group->requests.size(); ++i) {
    const auto& where = group->requests[i].where;
    auto& server = servers_[where.server];
    server.record.task = {"ps", where.server};
    // Before the first view the record is empty: the operation waits for the view, or for its deadline.
    if (server.record.incarnation != 0)
      if (auto why = lost(server.record, where.incarnation); !why.ok()) {
        finish({group, i, 0}, {.ended = std::move(why)});
        continue;
      }
    auto& shard = server.shards[where.shard];
    if (shard.unsent.empty()) dirty_.emplace_back(where.server, where.shard);
    group->requests[i].operation.sequence = ++last_sequence_;
    shard.unsent.push_back({group, i, last_sequence_});
  }
}

void variable_client::finish(const entry& which, operation_outcome outcome) {
  auto& group = *which.group;
  if (group.ended[which.index]) return;
  group.ended[which.index] = true;
  group.outcomes[which.index] = std::move(outcome);
  if (--group.missing != 0) return;
  clock_.cancel(group.deadline);
  if (group.done) std::exchange(group.done, {})();
}

void variable_client::flush() {
  for (const auto& [index, id] : std::exchange(dirty_, {})) send(index, id);
}

void variable_client::send(int index, std::uint64_t id) {
  auto& server = servers_[index];
  const auto found = server.shards.find(id);
  if (found == server.shards.end() || found->second.unsent.empty()) return;
  auto& shard = found->second;
  if (!server.handle) return dial(index);
  if (!shard.handle) return find(index, id);
  std::erase_if(shard.unsent, [](const entry& open) { return open.group->ended[open.index]; });
  if (shard.unsent.empty()) return;
  const auto local = shard.handle.node() == self_->node();
  operation_batch batch{.client = local ? 0 : client_, .retry = std::exchange(shard.retry, false)};
  batch.operations.reserve(shard.unsent.size());
  for (const auto& open : shard.unsent) batch.operations.push_back(open.group->requests[open.index].operation);
  wire<operation_batch> message{std::move(batch)};
  try {
    if (!local) message.seal();
  } catch (const error& failed) {
    for (const auto& open : std::exchange(shard.unsent, {})) finish(open, {.ended = failed.get_status()});
    return;
  }
  const auto number = ++last_batch_;
  shard.unacknowledged.emplace(number, std::exchange(shard.unsent, {}));
  const auto incarnation = server.record.incarnation;
  requests_.ask(
      shard.handle, options_.operation_limit * 2, fmt::format("a variable operation on /job:ps/task:{}", index),
      [this, index, incarnation, id, number](wire<outcome_batch>& answer) {
        when_local(self_, answer, options_.operation_limit,
                   [this, index, incarnation, id, number](wire<outcome_batch>& arrived, const status& problem) {
                     auto* link = link_of(index, incarnation);
                     if (link == nullptr) return;
                     acknowledge(*link, id, number, problem, problem.ok() ? arrived.take() : outcome_batch{});
                   });
      },
      [this, index, incarnation](const status&) {
        if (auto* link = link_of(index, incarnation)) disconnect(*link);
      },
      operate_atom_v, std::move(message));
}

void variable_client::acknowledge(server_link& server, std::uint64_t id, std::uint64_t batch, const status& problem,
                                  outcome_batch answer) {
  const auto shard = server.shards.find(id);
  if (shard == server.shards.end()) return;
  const auto sent = shard->second.unacknowledged.find(batch);
  if (sent == shard->second.unacknowledged.end()) return;
  const auto entries = std::move(sent->second);
  shard->second.unacknowledged.erase(sent);
  std::optional<fiber_host::turn> together;
  if (fibers_ != nullptr) together.emplace(*fibers_);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!problem.ok())
      finish(entries[i], {.ended = problem});
    else if (i < answer.outcomes.size())
      finish(entries[i], std::move(answer.outcomes[i]));
    else
      finish(entries[i], {.ended = {status_code::internal, "a shard answered fewer operations than it was asked"}});
  }
}

// --- links ----------------------------------------------------------------------------------------------------------

variable_client::server_link* variable_client::link_of(int index, std::uint64_t incarnation) {
  const auto found = servers_.find(index);
  return found != servers_.end() && found->second.record.incarnation == incarnation ? &found->second : nullptr;
}

void variable_client::dial(int index) {
  auto& server = servers_[index];
  if (server.dialling || server.handle || server.record.state != presence::present) return;
  server.dialling = true;
  const auto incarnation = server.record.incarnation;
  const auto again = [this, index, incarnation](const status&) {
    if (auto* link = link_of(index, incarnation)) {
      link->dialling = false;
      clock_.after(options_.dial_retry, [this, index] { dial(index); });
    }
  };
  const auto name = to_string(server.record.task);
  requests_.ask(
      dialer_, options_.dial_limit, "dialling " + name,
      [this, index, incarnation, again, name](member_actor& member) {
        requests_.ask(
            member, options_.dial_limit, "asking for the variables of " + name,
            [this, index, incarnation](parameter_server_actor& handle) {
              if (auto* link = link_of(index, incarnation)) connected(index, *link, handle);
            },
            again, server_atom_v);
      },
      again, dial_atom_v, server.record.address.host, server.record.address.port);
}

void variable_client::connected(int index, server_link& server, const parameter_server_actor& handle) {
  server.dialling = false;
  server.handle = handle;
  self_->monitor(handle);
  for (const auto& [id, shard] : server.shards)
    if (!shard.unsent.empty()) find(index, id);
}

void variable_client::find(int index, std::uint64_t id) {
  auto& server = servers_[index];
  auto& shard = server.shards[id];
  if (shard.finding || !server.handle) return;
  shard.finding = true;
  const auto incarnation = server.record.incarnation;
  const auto here = [this, index, incarnation, id]() -> shard_link* {
    auto* link = link_of(index, incarnation);
    const auto found = link == nullptr ? decltype(link->shards.begin()){} : link->shards.find(id);
    return link == nullptr || found == link->shards.end() ? nullptr : &found->second;
  };
  requests_.ask(
      server.handle, options_.dial_limit, fmt::format("finding a variable on /job:ps/task:{}", index),
      [this, here, index, id](shard_actor& handle) {
        auto* found = here();
        if (found == nullptr) return;
        found->finding = false;
        found->handle = handle;
        send(index, id);
      },
      [this, here, index, incarnation](const status& why) {
        auto* found = here();
        if (found == nullptr) return;
        found->finding = false;
        if (why.code() == status_code::not_found) return fail(*found, why);
        if (auto* link = link_of(index, incarnation)) disconnect(*link);
      },
      find_atom_v, id);
}

/// The link broke: what was not acknowledged goes back, in order, to be sent again over the next one.
void variable_client::disconnect(server_link& server) {
  if (!server.handle) return;
  self_->demonitor(server.handle.address());
  server.handle = nullptr;
  for (auto& [_, shard] : server.shards) {
    shard.handle = nullptr;
    shard.finding = false;
    if (shard.unacknowledged.empty()) continue;
    std::vector<entry> again;
    for (auto& [number, entries] : shard.unacknowledged)
      std::move(entries.begin(), entries.end(), std::back_inserter(again));
    std::move(shard.unsent.begin(), shard.unsent.end(), std::back_inserter(again));
    shard.unacknowledged.clear();
    shard.unsent = std::move(again);
    shard.retry = true;
  }
  clock_.after(options_.dial_retry, [this, index = server.record.task.index] { dial(index); });
}

bool variable_client::down(const caf::actor_addr& who, const status& why) {
  for (auto& [_, server] : servers_) {
    if (!server.handle || server.handle.address() != who) continue;
    requests_.lost(who, why);
    disconnect(server);
    return true;
  }
  return false;
}

void variable_client::take_view(const cluster_view& view) {
  for (const auto& record : view.members) {
    if (record.task.job != "ps") continue;
    auto& server = servers_[record.task.index];
    const auto same = server.record.incarnation == record.incarnation && record.state == presence::present;
    if (!same && server.record.incarnation != 0) {
      disconnect(server);
      fail(server, lost(record, server.record.incarnation));
      server.dialling = false;
    }
    server.record = record;
    if (!same) {
      fail_others(server);
      dial(record.task.index);
    }
  }
}

void variable_client::fail(shard_link& shard, const status& why) {
  auto open = std::exchange(shard.unsent, {});
  for (auto& [_, entries] : std::exchange(shard.unacknowledged, {}))
    std::move(entries.begin(), entries.end(), std::back_inserter(open));
  for (const auto& one : open) finish(one, {.ended = why});
}

void variable_client::fail(server_link& server, const status& why) {
  // Finishing may submit again, which may add shards: work on what is there now.
  for (auto& [_, shard] : std::exchange(server.shards, {})) fail(shard, why);
}

/// Operations that came before the first view and are for another incarnation, or for a server that is absent.
void variable_client::fail_others(server_link& server) {
  for (auto& [_, shard] : server.shards) {
    std::vector<entry> kept;
    for (auto& open : std::exchange(shard.unsent, {})) {
      auto why = lost(server.record, open.group->requests[open.index].where.incarnation);
      if (why.ok())
        kept.push_back(std::move(open));
      else
        finish(open, {.ended = std::move(why)});
    }
    std::move(kept.begin(), kept.end(), std::back_inserter(shard.unsent));
  }
}

}  // namespace troupe

#include <troupe/actors/fibers/random_device.hpp>
#include <troupe/actors/values/codec.hpp>
#include <troupe/actors/variables/variable_client.hpp>

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

namespace troupe {

namespace {

const status given_up{status_code::aborted, "its link has been given up"};

}  // namespace

status variable_client::lost(const server_link& server, std::uint64_t wanted) {
  const auto name = to_string(server.record.task);
  if (server.record.state == member_presence::absent)
    return server.record.why.wrap(status_code::unavailable,
                                  fmt::format("{} is lost with the variables it held; wait for it to come back and "
                                              "restore a checkpoint",
                                              name));
  if (wanted == server.record.incarnation) return {};
  if (std::find(server.lives.begin(), server.lives.end(), wanted) != server.lives.end())
    return {status_code::unavailable,
            fmt::format("{} was restarted and lost the variables it held; restore a checkpoint", name)};
  return {
      status_code::unavailable,
      fmt::format("the variable was never on {} as far as this process knows: it belongs to another cluster, or the "
                  "server was restarted before this process began, and a checkpoint must be restored",
                  name)};
}

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
  // Two clients must not share a number, or a shard would mix up what they send again.
  client_ = random_number();
}

variable_client::~variable_client() {
  const status ended{status_code::cancelled, "the actor that sent this operation has ended"};
  for (auto& [_, server] : servers_) fail(server, ended);
}

// --- operations -----------------------------------------------------------------------------------------------------

void variable_client::submit(const std::shared_ptr<operation_group>& group) {
  if (group->requests.empty()) return group->done();
  if (!closed_.ok()) {
    for (std::size_t i = 0; i < group->requests.size(); ++i) finish({group, i, 0}, {.ended = closed_});
    return;
  }
  group->ends = later(clock_.now(), group->limit);
  group->deadline = clock_.after(group->limit, [this, group] {
    for (std::size_t i = 0; i < group->requests.size(); ++i)
      if (!group->ended[i]) finish({group, i, 0}, {.ended = too_late(*group, group->requests[i].where)});
  });
  for (std::size_t i = 0; i < group->requests.size(); ++i) {
    const auto& where = group->requests[i].where;
    auto& server = servers_[where.server];
    server.record.task = {"ps", where.server};
    // Before the first view the record is empty: the operation waits for the view, or for its deadline.
    if (server.record.incarnation != 0)
      if (auto why = lost(server, where.incarnation); !why.ok()) {
        finish({group, i, 0}, {.ended = std::move(why)});
        continue;
      }
    auto& shard = server.shards[where.shard];
    if (shard.unsent.empty()) dirty_.emplace_back(where.server, where.shard);
    group->requests[i].operation.sequence = ++last_sequence_;
    shard.unsent.push_back({group, i, last_sequence_});
  }
}

void variable_client::begin_session(session_id session) {
  session_ = session;
  // Finishing may submit again: work on what is there now.
  std::vector<entry> open;
  for (const auto& [_, server] : servers_)
    for (const auto& [id, shard] : server.shards) {
      for (const auto& [number, sent] : shard.sent) open.insert(open.end(), sent.begin(), sent.end());
      open.insert(open.end(), shard.unsent.begin(), shard.unsent.end());
    }
  for (const auto& each : open) finish(each, {.ended = session_over});
}

void variable_client::close(const status& why) {
  closed_ = why;
  for (auto& [_, server] : servers_) {
    if (server.at != link_state::idle) enter(server, link_state::idle);
    fail(server, why);
  }
}

/// With what its links failed last, if they are not in order now.
status variable_client::too_late(const operation_group& group, const shard_address& where) const {
  const auto text = fmt::format("an operation on /job:ps/task:{} did not end within {} ms", where.server,
                                in_milliseconds(group.limit));
  const auto& server = servers_.at(where.server);
  const auto shard = server.shards.find(where.shard);
  const auto& why =
      server.at != link_state::ready || shard == server.shards.end() ? server.problem : shard->second.problem;
  return why.ok() ? status{status_code::deadline_exceeded, text} : why.wrap(status_code::deadline_exceeded, text);
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
  if (found == server.shards.end() || server.at != link_state::ready) return;
  auto& shard = found->second;
  if (shard.unsent.empty()) return;
  if (requests_.size() >= options_.requests_max) return void(postponed_.emplace_back(index, id));
  if (shard.at == link_state::ready) return send(server, id, shard);
  if (shard.at == link_state::idle) enter(server, id, link_state::connecting);
}

/// Whenever a request has ended, however it did.
void variable_client::send_postponed() {
  while (!postponed_.empty() && requests_.size() < options_.requests_max) {
    const auto [index, id] = postponed_.front();
    postponed_.pop_front();
    send(index, id);
  }
}

namespace {

/// What a request takes of a message and of its answer, but for a few bytes.
std::size_t bytes_of(const shard_request& request) {
  const auto& operation = request.operation;
  const auto arguments = operation.arguments.empty() ? 0 : operation.arguments.encoded_size_hint();
  return std::max(operation.operand.size_bytes() + operation.rows.size() * sizeof(std::int64_t) + arguments,
                  request.answer_bytes);
}

}  // namespace

void variable_client::send(server_link& server, std::uint64_t id, shard_link& shard) {
  std::erase_if(shard.unsent, [](const entry& open) { return open.group->ended[open.index]; });
  auto rest = std::exchange(shard.unsent, {});
  // Half: what is added to the contents must fit, too.
  const auto bytes_max = std::min(options_.batch_bytes_max, value_bytes_max() / 2);
  for (auto first = rest.begin(); first != rest.end();) {
    auto size_bytes = bytes_of(first->group->requests[first->index]);
    auto last = std::next(first);
    for (; last != rest.end(); ++last) {
      size_bytes += bytes_of(last->group->requests[last->index]);
      if (size_bytes > bytes_max) break;
    }
    if (first == rest.begin() && last == rest.end()) return send_batch(server, id, shard, std::move(rest));
    send_batch(server, id, shard, {std::make_move_iterator(first), std::make_move_iterator(last)});
    first = last;
  }
}

void variable_client::send_batch(server_link& server, std::uint64_t id, shard_link& shard, std::vector<entry> entries) {
  const auto& first = shard.sent.empty() ? entries.front() : shard.sent.begin()->second.front();
  operation_batch batch{.first_open = first.sequence,
                        .incarnation = server.record.incarnation,
                        .shard = id,
                        .session = session_,
                        .operations = {}};
  batch.operations.reserve(entries.size());
  for (const auto& open : entries) batch.operations.push_back(open.group->requests[open.index].operation);
  wire<operation_batch> message{std::move(batch)};
  const auto remote = is_encoded_between(self_->node(), shard.handle.node());
  try {
    if (remote) message.seal();
  } catch (...) {
    if (entries.size() == 1) return finish(entries.front(), {.ended = status_of(std::current_exception())});
    // The fault of one is not that of the others.
    for (auto& open : entries) send_batch(server, id, shard, {std::move(open)});
    return;
  }
  const auto number = ++last_batch_;
  const auto limit = std::max(options_.operation_limit * 2, time_left(entries));
  shard.sent.emplace(number, std::move(entries));
  const auto index = server.record.task.index;
  const shard_key key{index, id, shard.number};
  requests_.ask(
      shard.handle, limit, fmt::format("a variable operation on /job:ps/task:{}", index),
      [this, key, number](wire<outcome_batch>& answer) {
        take_answer(key, number, answer);
        send_postponed();
      },
      [this, key](const status& why) {
        break_off(key, why);
        send_postponed();
      },
      operate_atom_v, client_, link_number{key.number}, std::move(message));
  if (remote && !server.watched) watch(server, options_.ping_after);
}

/// Until the last of them is over its deadline.
duration variable_client::time_left(const std::vector<entry>& entries) const {
  time_point last{};
  for (const auto& open : entries)
    if (!open.group->ended[open.index]) last = std::max(last, open.group->ends);
  return std::clamp<duration>(last - clock_.now(), duration::zero(), std::chrono::hours{24});
}

void variable_client::take_answer(const shard_key& key, std::uint64_t batch, wire<outcome_batch>& answer) {
  auto* const shard = in_state(key);
  if (shard == nullptr) return;
  auto& server = servers_.at(key.server);
  server.heard = clock_.now();
  const auto sent = shard->sent.find(batch);
  if (sent == shard->sent.end()) return;
  if (!answer.waits_for_bulk()) {
    const auto problem = answer.open();
    return acknowledge(key, batch, problem.ok() ? answer.take() : outcome_batch{.refused = problem, .outcomes = {}});
  }
  const auto limit = time_left(sent->second);
  // Nobody waits for what it holds.
  if (limit <= duration::zero()) return acknowledge(key, batch, {});
  // No order: it is the only answer to its batch.
  when_local(self_, answer, limit, [this, key, batch](wire<outcome_batch>& arrived, const status& problem) {
    problem.ok() ? acknowledge(key, batch, arrived.take()) : break_off(key, problem);
  });
}

void variable_client::acknowledge(const shard_key& key, std::uint64_t batch, outcome_batch answer) {
  auto* const shard = in_state(key);
  if (shard == nullptr) return;
  const auto sent = shard->sent.extract(batch);
  if (!sent) return;
  shard->problem = {};
  std::optional<fiber_host::turn> together;
  if (fibers_ != nullptr) together.emplace(*fibers_);
  const auto& entries = sent.mapped();
  const auto otherwise = answer.refused.ok()
                             ? status{status_code::internal, "a shard answered fewer operations than it was asked"}
                             : answer.refused;
  for (std::size_t i = 0; i < entries.size(); ++i)
    finish(entries[i],
           i < answer.outcomes.size() ? std::move(answer.outcomes[i]) : operation_outcome{.ended = otherwise});
}

// A link can be dead without anybody noticing: a firewall or a switch drops its packets, and TCP goes on trying for a
// quarter of an hour. Whoever waits for an answer asks the server whether it is there at all, and hangs up if not: else
// the next dial would find the dead link.

void variable_client::watch(server_link& server, duration until) {
  server.watched = true;
  clock_.after(until, [this, index = server.record.task.index, number = server.number] { look_after(index, number); });
}

void variable_client::look_after(int index, link_number number) {
  auto* const server = in_state(index, number);
  if (server == nullptr) return;
  server->watched = false;
  const auto waits = std::any_of(server->shards.begin(), server->shards.end(),
                                 [](const auto& shard) { return !shard.second.sent.empty(); });
  if (!waits) return;
  const auto silent = clock_.now() - server->heard;
  if (silent < options_.ping_after) return watch(*server, options_.ping_after - silent);
  server->watched = true;
  requests_.ask(
      server->handle, options_.ping_limit, "asking whether " + to_string(server->record.task) + " is there",
      [this, index, number](std::uint64_t) {
        auto* const there = in_state(index, number);
        if (there == nullptr) return;
        there->heard = clock_.now();
        watch(*there, options_.ping_after);
      },
      [this, index, number](const status& why) {
        auto* const silent_one = in_state(index, number);
        if (silent_one == nullptr) return;
        silent_one->problem = why;
        // A worker's link to a server serves nothing else. The chief's is watched by its membership, too.
        if (session_ != 0) caf::anon_send(dialer_, hang_up_atom_v, silent_one->handle.node());
        enter(*silent_one, link_state::pausing);
      },
      alive_atom_v, std::uint64_t{0});
}

/// Puts what was sent and not acknowledged back, in order, before what is new.
void variable_client::take_back(shard_link& shard) {
  std::vector<entry> again;
  for (auto& [_, entries] : std::exchange(shard.sent, {}))
    std::move(entries.begin(), entries.end(), std::back_inserter(again));
  std::move(shard.unsent.begin(), shard.unsent.end(), std::back_inserter(again));
  shard.unsent = std::move(again);
}

// --- links ----------------------------------------------------------------------------------------------------------

variable_client::server_link* variable_client::in_state(int index, link_number number) {
  const auto found = servers_.find(index);
  return found != servers_.end() && found->second.number == number ? &found->second : nullptr;
}

variable_client::shard_link* variable_client::in_state(const shard_key& key) {
  const auto server = servers_.find(key.server);
  if (server == servers_.end()) return nullptr;
  const auto found = server->second.shards.find(key.shard);
  return found != server->second.shards.end() && found->second.number == key.number ? &found->second : nullptr;
}

void variable_client::enter(server_link& server, link_state next) {
  if (server.at == link_state::ready) {
    self_->demonitor(server.handle.address());
    requests_.lost(server.handle.address(), given_up);
    server.handle = nullptr;
    for (const auto& [id, shard] : server.shards)
      if (shard.at != link_state::idle) enter(server, id, link_state::idle);
  }
  server.at = next;
  server.number = ++last_state_;
  server.watched = false;
  const auto index = server.record.task.index;
  if (next == link_state::connecting) {
    dial(server);
  } else if (next == link_state::ready) {
    server.problem = {};
    server.heard = clock_.now();
    self_->monitor(server.handle);
    for (const auto& [id, shard] : server.shards) send(index, id);
  } else if (next == link_state::pausing) {
    clock_.after(options_.dial_retry, [this, index, number = server.number] {
      if (auto* const again = in_state(index, number)) enter(*again, link_state::connecting);
    });
  }
}

void variable_client::enter(server_link& server, std::uint64_t id, link_state next) {
  auto& shard = server.shards.at(id);
  if (shard.at == link_state::ready) {
    self_->demonitor(shard.handle.address());
    // They are sent again over the next link, and take the place of others until then.
    if (!shard.sent.empty()) requests_.lost(shard.handle.address(), given_up);
    shards_.erase(shard.handle.address());
    shard.handle = nullptr;
    take_back(shard);
  }
  shard.at = next;
  shard.number = ++last_state_;
  if (next == link_state::connecting) {
    find(server, id);
  } else if (next == link_state::ready) {
    self_->monitor(shard.handle);
    shards_.insert_or_assign(shard.handle.address(), shard_key{server.record.task.index, id, shard.number});
    send(server, id, shard);
  } else if (next == link_state::pausing) {
    clock_.after(options_.dial_retry, [this, key = shard_key{server.record.task.index, id, shard.number}] {
      if (in_state(key) != nullptr) enter(servers_[key.server], key.shard, link_state::connecting);
    });
  }
}

void variable_client::break_off(const shard_key& key, const status& why) {
  auto* const shard = in_state(key);
  if (shard == nullptr) return;
  shard->problem = why;
  enter(servers_[key.server], key.shard, link_state::pausing);
}

void variable_client::dial(const server_link& server) {
  const auto index = server.record.task.index;
  const auto number = server.number;
  const auto name = to_string(server.record.task);
  const auto failed = [this, index, number, name](const status& why) {
    auto* const dialled = in_state(index, number);
    if (dialled == nullptr) return;
    dialled->problem = why.wrap("there is no link to " + name);
    enter(*dialled, link_state::pausing);
  };
  requests_.ask(
      dialer_, options_.dial_limit, "dialling " + name,
      [this, index, number, failed, name](member_actor& member) {
        if (in_state(index, number) == nullptr) return;
        requests_.ask(
            member, options_.dial_limit, "asking for the variables of " + name,
            [this, index, number](parameter_server_actor& handle) {
              auto* const dialled = in_state(index, number);
              if (dialled == nullptr) return;
              dialled->handle = handle;
              enter(*dialled, link_state::ready);
            },
            [this, failed, process = member.node()](const status& why) {
              // Nothing is under way: the link that CAF has found is dead, and the next dial would find it again.
              if (session_ != 0 && why.code() == status_code::deadline_exceeded)
                caf::anon_send(dialer_, hang_up_atom_v, process);
              failed(why);
            },
            server_atom_v);
      },
      failed, dial_atom_v, server.record.address.host, server.record.address.port);
}

void variable_client::find(const server_link& server, std::uint64_t id) {
  const shard_key key{server.record.task.index, id, server.shards.at(id).number};
  requests_.ask(
      server.handle, options_.dial_limit, fmt::format("finding a variable on /job:ps/task:{}", key.server),
      [this, key](shard_actor& handle) {
        if (auto* const shard = in_state(key)) {
          shard->handle = handle;
          enter(servers_[key.server], key.shard, link_state::ready);
        }
        send_postponed();
      },
      [this, key](const status& why) {
        not_found(key, why);
        send_postponed();
      },
      find_atom_v, std::uint64_t{server.record.incarnation}, id);
}

void variable_client::not_found(const shard_key& key, const status& why) {
  auto* const shard = in_state(key);
  if (shard == nullptr) return;
  auto& asked = servers_[key.server];
  if (why.code() != status_code::not_found) {
    asked.problem = why;
    return enter(asked, link_state::pausing);
  }
  enter(asked, key.shard, link_state::idle);
  fail(*shard, why);
  if (shard->unsent.empty()) asked.shards.erase(key.shard);
}

bool variable_client::down(const caf::actor_addr& who, const status& why) {
  for (auto& [_, server] : servers_) {
    if (!server.handle || server.handle.address() != who) continue;
    requests_.lost(who, why);
    server.problem = why;
    enter(server, link_state::pausing);
    return true;
  }
  const auto shard = shards_.find(who);
  if (shard == shards_.end()) return false;
  const auto key = shard->second;
  requests_.lost(who, why);
  auto& server = servers_.at(key.server);
  const auto& link = server.shards.at(key.shard);
  if (!link.sent.empty() || !link.unsent.empty()) {
    break_off(key, why);
  } else {
    // Nobody wants it now: after a restore all shards of a model go at once.
    enter(server, key.shard, link_state::idle);
    server.shards.erase(key.shard);
  }
  return true;
}

void variable_client::take_view(const cluster_view& view) {
  for (const auto& record : view.members)
    if (record.task.job == "ps") take_record(record);
}

void variable_client::take_record(const member_record& record) {
  auto& server = servers_[record.task.index];
  const auto before = std::exchange(server.record, record).incarnation;
  const auto present = record.state == member_presence::present;
  if (record.incarnation != 0 && record.incarnation != before) {
    constexpr std::size_t remembered_max = 1000;
    server.lives.push_back(record.incarnation);
    if (server.lives.size() > remembered_max) server.lives.pop_front();
  }
  if (!present || before != record.incarnation) {
    if (server.at != link_state::idle) enter(server, link_state::idle);
    if (before != 0) fail(server, lost(server, before));
    fail_others(server);
  }
  if (present && server.at == link_state::idle) enter(server, link_state::connecting);
}

void variable_client::fail(shard_link& shard, const status& why) {
  take_back(shard);
  for (const auto& open : std::exchange(shard.unsent, {})) finish(open, {.ended = why});
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
      auto why = lost(server, open.group->requests[open.index].where.incarnation);
      if (why.ok())
        kept.push_back(std::move(open));
      else
        finish(open, {.ended = std::move(why)});
    }
    // Before what the ends of others have submitted.
    shard.unsent.insert(shard.unsent.begin(), std::make_move_iterator(kept.begin()),
                        std::make_move_iterator(kept.end()));
  }
}

}  // namespace troupe

#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/shard_construction.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace troupe {

namespace {

/// New in this process, whose servers belong to it alone.
std::uint64_t next_shard_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

/// What small shards share.
constexpr std::size_t message_bytes = std::size_t{32} << 20;

/// About what an order takes of a message.
std::size_t bytes_of(const std::string& variable, const shard_content& content) {
  constexpr std::size_t overhead = 256;
  auto result = variable.size() + content.initial.size_bytes() + overhead;
  for (const auto& [name, slot] : content.slots) result += name.size() + slot.size_bytes() + overhead;
  return result;
}

/// The cluster with a server that may be about to join for the first time. One that was lost is not waited for.
cluster_view joined(cluster& cluster, const task_id& server, duration limit) {
  auto view = cluster.view();
  const auto& record = *view.find(server);
  if (record.state == member_presence::present || record.incarnation != 0) return view;
  return cluster.wait_for({server}, limit);
}

/// Whether the shard's server may still have it.
bool may_exist(const cluster_view& view, const shard_address& shard) {
  const auto* const record = view.find({"ps", shard.server});
  return record != nullptr && record->incarnation == shard.incarnation;
}

}  // namespace

parameter_server_actor reach(const cluster& cluster, const member_record& server, duration limit) {
  if (server.state == member_presence::absent)
    throw_status(server.why.wrap(status_code::unavailable, to_string(server.task)));
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

// --- disposal -------------------------------------------------------------------------------------------------------

void shard_disposal::dispose(std::vector<shard_address> shards) {
  // A server that does not answer at once is asked again at the next occasion.
  constexpr auto limit = std::chrono::seconds{5};
  {
    const std::scoped_lock lock{mutex_};
    auto earlier = std::exchange(waiting_, {});
    shards.insert(shards.end(), earlier.begin(), earlier.end());
  }
  if (shards.empty()) return;
  std::map<std::pair<int, std::uint64_t>, shard_numbers> by_server;
  for (const auto& shard : shards) by_server[{shard.server, shard.incarnation}].push_back(shard.shard);
  for (auto& [where, numbers] : by_server) {
    const auto& [index, incarnation] = where;
    std::vector<shard_address> addresses;
    for (const auto number : numbers) addresses.push_back({index, incarnation, number});
    try {
      const auto view = cluster_->view();
      if (!may_exist(view, addresses.front())) continue;
      const auto name = to_string(task_id{"ps", index});
      ask(
          cluster_->system(), reach(*cluster_, *view.find({"ps", index}), limit), limit,
          "deleting variables on " + name, [](caf::ok_atom) {}, release_atom_v, std::uint64_t{incarnation},
          wire<shard_numbers>{std::move(numbers)});
    } catch (const error&) {
      const std::scoped_lock lock{mutex_};
      waiting_.insert(waiting_.end(), addresses.begin(), addresses.end());
    }
  }
}

std::size_t shard_disposal::waiting() const {
  const std::scoped_lock lock{mutex_};
  return waiting_.size();
}

// --- construction ---------------------------------------------------------------------------------------------------

shard_construction::~shard_construction() {
  under_way_.clear();
  if (made_.empty()) return;
  try {
    disposal_->dispose(std::move(made_));
  } catch (...) {
    // A destructor has nobody to tell: a cancelled fiber leaves the shards where they are.
  }
}

shard_construction::server_state& shard_construction::server(int index) {
  auto& known = servers_[index];
  if (known.handle) return known;
  const auto place = *joined(*cluster_, {"ps", index}, limit_).find({"ps", index});
  known.handle = reach(*cluster_, place, limit_);
  known.incarnation = place.incarnation;
  return known;
}

shard_address shard_construction::add(int index, const variable_record& variable, shard_content content) {
  auto& to = server(index);
  const auto size_bytes = bytes_of(variable.name, content);
  while (!under_way_.empty() && open_bytes_ + size_bytes > window_bytes_) wait_for_oldest();
  if (open_bytes_ + size_bytes > window_bytes_)
    for (auto& [other, state] : servers_) send(state, other);
  while (!under_way_.empty() && open_bytes_ + size_bytes > window_bytes_) wait_for_oldest();
  const auto number = next_shard_number();
  to.unsent.orders.push_back(
      {number, variable.name, std::move(content.initial), std::move(content.slots), content.step, variable.device});
  to.unsent_bytes += size_bytes;
  open_bytes_ += size_bytes;
  const auto address = made_.emplace_back(shard_address{index, to.incarnation, number});
  if (to.unsent_bytes >= message_bytes) send(to, index);
  return address;
}

void shard_construction::send(server_state& to, int index) {
  if (to.unsent.orders.empty()) return;
  wire<shard_orders> message{std::exchange(to.unsent, {})};
  const auto size_bytes = std::exchange(to.unsent_bytes, 0);
  auto what =
      message->orders.size() == 1
          ? fmt::format("making variable \"{}\" on /job:ps/task:{}", message->orders.front().name, index)
          : fmt::format("making {} shards of variables, from \"{}\" to \"{}\", on /job:ps/task:{}",
                        message->orders.size(), message->orders.front().name, message->orders.back().name, index);
  if (is_encoded_between(cluster_->system().node(), to.handle.node())) message.seal();
  under_way_.push_back({ask_ahead(cluster_->system(), to.handle, limit_, std::move(what), create_atom_v,
                                  std::uint64_t{to.incarnation}, std::move(message)),
                        size_bytes});
}

void shard_construction::wait_for_oldest() {
  auto oldest = std::move(under_way_.front());
  under_way_.pop_front();
  open_bytes_ -= oldest.size_bytes;
  oldest.answer.wait();
}

void shard_construction::finish() {
  for (auto& [index, state] : servers_) send(state, index);
  while (!under_way_.empty()) wait_for_oldest();
  made_.clear();
}

}  // namespace troupe

#include <troupe/runtime/cluster/tcp_connector.hpp>
#include <troupe/runtime/simulation/simulated_network.hpp>

#include <caf/io/scribe.hpp>

#include <algorithm>

namespace troupe {

// --- nodes ----------------------------------------------------------------------------------------------------------

void simulated_network::attach(simulated_node& node, time_point now) {
  const auto& task = node.who().task;
  nodes_[task] = &node;
  strangers_.erase(task);
  // A host that is on again knows nothing of the connections that it had.
  if (off_.erase(task) != 0)
    for (const auto& link : connections_)
      for (std::size_t side = 0; side < 2; ++side)
        if ((*link)[side].task == task && (*link)[side].node == nullptr) close((*link)[side], (*link)[1 - side], now);
  auto& own = offers_[task];
  own.clear();
  for (const auto& [listener, address] : addresses_) {
    if (listener == task) continue;
    offer_connection(node, own.emplace_back(offer{listener, address, {}}));
  }
  if (!addresses_.emplace(task, node.address()).second) return;
  for (const auto& [other, from] : nodes_)
    if (other != task) offer_connection(*from, offers_[other].emplace_back(offer{task, node.address(), {}}));
}

void simulated_network::detach(const simulated_node& node, death how, time_point now) {
  nodes_.erase(node.who().task);
  offers_.erase(node.who().task);
  std::erase_if(connects_, [&](const auto& each) { return each.second.node == &node; });
  if (how == death::of_host) off_.insert(node.who().task);
  for (const auto& link : connections_)
    for (std::size_t side = 0; side < 2; ++side) {
      auto& dead = (*link)[side];
      if (dead.node != &node) continue;
      auto& other = (*link)[1 - side];
      lose_some(other);
      if (how == death::of_process)
        close(dead, other, now);
      else
        dead.closed = true;
      dead.node = nullptr;
    }
}

void simulated_network::break_links(const task_id& a, const task_id& b, time_point now) {
  for (const auto& link : connections_) {
    auto& [dialler, listener] = *link;
    if (std::minmax(dialler.task, listener.task) != std::minmax(a, b)) continue;
    for (auto* receiver : {&dialler, &listener}) {
      lose_some(*receiver);
      receiver->closes = std::min(receiver->closes, std::max(receiver->last_arrival, now));
    }
    if (listener.opens != never) listener.closed = true;
  }
}

void simulated_network::silence_links(const task_id& a, const task_id& b) {
  for (const auto& link : connections_)
    if (std::minmax((*link)[0].task, (*link)[1].task) == std::minmax(a, b))
      for (auto& each : *link) each.silenced = true;
}

void simulated_network::heal(const task_id& a, const task_id& b, time_point now) {
  cut_.erase(std::minmax(a, b));
  constexpr duration attempt_interval = tcp_connector_options{}.attempt_interval;
  for (auto& [_, connect] : connects_)
    if (std::minmax(connect.node->who().task, connect.listener) == std::minmax(a, b))
      connect.answered = std::max(
          connect.answered,
          now + duration{static_cast<duration::rep>(random_() % static_cast<std::uint64_t>(attempt_interval.count()))});
}

// --- connects -------------------------------------------------------------------------------------------------------

void simulated_network::connect(simulated_node& from, const task_address& where, duration limit, connector::ended done,
                                time_point now) {
  const auto listens = [&](const auto& entry) { return entry.second == where; };
  const auto found = std::find_if(addresses_.begin(), addresses_.end(), listens);
  connects_.emplace(++last_connect_, open_connect{.node = &from,
                                                  .where = where,
                                                  .listener = found != addresses_.end() ? found->first : task_id{},
                                                  .answered = now + latency() + latency(),
                                                  .deadline = later(now, limit),
                                                  .done = std::move(done)});
}

bool simulated_network::answers(const open_connect& connect) const {
  return !off_.contains(connect.listener) && !cut_.contains(std::minmax(connect.node->who().task, connect.listener));
}

time_point simulated_network::due(const open_connect& connect) const {
  if (connect.node->frozen) return never;
  return answers(connect) ? std::min(connect.answered, connect.deadline) : connect.deadline;
}

bool simulated_network::end_connect(std::uint64_t number) {
  const auto ended = connects_.extract(number);
  const auto& connect = ended.mapped();
  if (!answers(connect) || connect.answered > connect.deadline)
    connect.done({}, {status_code::deadline_exceeded, to_string(connect.where) + " did not answer"});
  else if (!nodes_.contains(connect.listener) && !strangers_.contains(connect.listener))
    connect.done({}, {status_code::unavailable, "no connection to " + to_string(connect.where) + ": refused"});
  else
    connect.done(
        [where = connect.where](caf::io::network::multiplexer& network) -> caf::io::scribe_ptr {
          auto made = network.new_tcp_scribe(where.host, where.port);
          return made ? *made : nullptr;
        },
        {});
  return true;
}

// --- from the nodes -------------------------------------------------------------------------------------------------

void simulated_network::collect(simulated_node& node, time_point now) {
  for (const auto& link : connections_)
    for (std::size_t side = 0; side < 2; ++side)
      if ((*link)[side].node == &node) carry(*link, side, now);
  std::erase_if(connections_, [](const auto& link) { return (*link)[0].closed && (*link)[1].closed; });
  for (auto& to : offers_[node.who().task]) {
    if (node.network().has_pending_scribe(to.address.host, to.address.port)) continue;
    dialled(node, to, now);
    offer_connection(node, to);
  }
}

void simulated_network::offer_connection(simulated_node& from, offer& to) {
  to.handle = new_handle();
  from.network().provide_scribe(to.address.host, to.address.port, to.handle);
}

void simulated_network::dialled(simulated_node& from, const offer& to, time_point now) {
  auto link = std::make_unique<connection>();
  auto& [dialler, listener] = *link;
  dialler.task = from.who().task;
  dialler.node = &from;
  dialler.handle = to.handle;
  listener.task = to.listener;
  const auto found = nodes_.find(to.listener);
  if (found != nodes_.end()) {
    listener.node = found->second;
    listener.handle = new_handle();
    listener.opens = now + latency();
  } else if (strangers_.contains(to.listener)) {
    constexpr std::size_t words_max = 64;
    std::vector<char> words(random_() % words_max);
    for (auto& each : words) each = static_cast<char>(random_());
    dialler.last_arrival = now + latency();
    if (!words.empty()) dialler.incoming.push_back({dialler.last_arrival, std::move(words)});
    listener.closed = true;
  } else {
    close(listener, dialler, now);
  }
  connections_.push_back(std::move(link));
}

void simulated_network::carry(connection& link, std::size_t side, time_point now) {
  auto& sender = link[side];
  auto& receiver = link[1 - side];
  auto& network = sender.node->network();
  auto& written = network.output_buffer(sender.handle);
  if (!written.empty()) {
    auto bytes = std::exchange(written, {});
    bytes_sent_[sender.task] += bytes.size();
    // An end that is to hear of a close hears of nothing after it.
    if (!receiver.closed && receiver.closes == never) {
      receiver.last_arrival = std::max(receiver.last_arrival, now + latency());
      receiver.incoming.push_back({receiver.last_arrival, std::move(bytes)});
    }
  }
  if (!sender.closed && network.stopped_reading(sender.handle)) close(sender, receiver, now);
}

void simulated_network::close(end& closing, end& other, time_point now) {
  closing.closed = true;
  closing.incoming.clear();
  other.closes = std::min(other.closes, std::max(other.last_arrival, now + latency()));
  // A listener that has not heard of the connection never will.
  if (other.opens != never) other.closed = true;
}

void simulated_network::lose_some(end& receiver) {
  if (random_() % 2 == 0) return;
  auto& waiting = receiver.incoming;
  if (waiting.empty()) return;
  waiting.resize(1 + random_() % waiting.size());
  auto& last = waiting.back().bytes;
  last.resize(random_() % (last.size() + 1));
}

duration simulated_network::latency() {
  const auto range = static_cast<std::uint64_t>((latency_max_ - latency_min_).count()) + 1;
  return latency_min_ + duration{static_cast<duration::rep>(random_() % range)};
}

// --- to the nodes ---------------------------------------------------------------------------------------------------

time_point simulated_network::due(const end& receiver) {
  if (receiver.closed || receiver.node == nullptr || receiver.node->frozen) return never;
  if (receiver.opens != never) return receiver.opens;
  return receiver.incoming.empty() ? receiver.closes : receiver.incoming.front().arrival;
}

void simulated_network::add_arrivals(time_point now, std::vector<arrival>& into) const {
  for (const auto& [number, connect] : connects_)
    if (due(connect) <= now) into.push_back({connect.node, 0, 0, number});
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    auto& link = *connections_[i];
    const auto open = passes(link);
    for (std::size_t side = 0; side < 2; ++side) {
      const auto& receiver = link[side];
      if (receiver.closed || receiver.node == nullptr || receiver.node->frozen) continue;
      // What has arrived already can be read although the link is cut now.
      if ((open && due(receiver) <= now) || !receiver.node->network().virtual_network_buffer(receiver.handle).empty())
        into.push_back({receiver.node, i, side});
    }
  }
}

bool simulated_network::deliver(const arrival& where, time_point now) {
  if (where.connect != 0) return end_connect(where.connect);
  auto& link = *connections_[where.connection];
  auto& receiver = link[where.side];
  auto& network = receiver.node->network();
  const auto open = passes(link);
  if (receiver.opens != never) return open && accept(receiver, link[1 - where.side], now);
  if (network.try_read_data(receiver.handle)) return true;
  if (!open) return false;
  auto& arrived = network.virtual_network_buffer(receiver.handle);
  while (!receiver.incoming.empty() && receiver.incoming.front().arrival <= now) {
    const auto& bytes = receiver.incoming.front().bytes;
    arrived.insert(arrived.end(), bytes.begin(), bytes.end());
    receiver.incoming.pop_front();
  }
  if (network.try_read_data(receiver.handle)) return true;
  if (!receiver.incoming.empty() || receiver.closes > now) return false;
  const auto scribe = network.impl_ptr(receiver.handle);
  // The dialler's broker has not taken the connection over yet.
  if (!scribe || scribe->detached()) return false;
  scribe->io_failure(&network, caf::io::network::operation::read);
  receiver.closed = true;
  return true;
}

bool simulated_network::accept(end& listener, end& dialler, time_point now) {
  listener.opens = never;
  if (!listener.node->listening()) {
    close(listener, dialler, now);
    return true;
  }
  listener.node->network().add_pending_connect(listener.node->port(), listener.handle);
  return listener.node->network().try_accept_connection();
}

time_point simulated_network::next_arrival(time_point now) const {
  auto next = never;
  for (const auto& [_, connect] : connects_)
    if (const auto when = due(connect); when > now) next = std::min(next, when);
  for (const auto& link : connections_) {
    if (!passes(*link)) continue;
    for (const auto& receiver : *link)
      if (const auto when = due(receiver); when > now) next = std::min(next, when);
  }
  return next;
}

}  // namespace troupe

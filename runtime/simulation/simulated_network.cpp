#include <troupe/runtime/cluster/tcp_connector.hpp>
#include <troupe/runtime/simulation/basp_frames.hpp>
#include <troupe/runtime/simulation/simulated_doors.hpp>
#include <troupe/runtime/simulation/simulated_network.hpp>

#include <caf/io/basp/header.hpp>

#include <algorithm>
#include <iterator>

namespace troupe {

simulated_network::~simulated_network() {
  // What still has a scribe somewhere must not come back to this network.
  for (auto& [_, connection] : connections_)
    for (auto& end : connection->ends) {
      end.process = nullptr;
      end.alarm.reset();
    }
}

// --- hosts ----------------------------------------------------------------------------------------------------------

host_number simulated_network::add_host(std::string name) {
  const auto number = names_.size();
  hosts_.emplace(name, number);
  names_.push_back(std::move(name));
  processes_.push_back(nullptr);
  bytes_sent_.push_back(0);
  return number;
}

std::optional<host_number> simulated_network::find_host(const std::string& name) const {
  const auto found = hosts_.find(name);
  return found == hosts_.end() ? std::nullopt : std::optional{found->second};
}

void simulated_network::attach(simulated_process& process) {
  const auto host = process.host();
  processes_[host] = &process;
  strangers_.erase(host);
  if (off_.erase(host) == 0) return;
  // A host that is on again knows nothing of the connections that it had.
  for (auto& [_, connection] : connections_)
    for (std::size_t side = 0; side < 2; ++side)
      if (connection->ends[side].host == host && connection->ends[side].process == nullptr)
        set_closed(*connection, side);
  look_at_all();
}

void simulated_network::detach(const simulated_process& process, death how) {
  const auto host = process.host();
  processes_[host] = nullptr;
  std::erase_if(doormen_, [&](const auto& each) { return each.first.first == host; });
  std::erase_if(connects_, [&](const auto& each) { return each.second.process == &process; });
  if (how == death::of_host) off_.insert(host);
  std::vector<std::uint64_t> over;
  for (auto& [number, connection] : connections_)
    for (std::size_t side = 0; side < 2; ++side) {
      auto& dead = connection->ends[side];
      if (dead.process != &process) continue;
      dead.alarm.reset();
      dead.process = nullptr;
      lose_some(connection->ends[1 - side]);
      if (how == death::of_process)
        set_closed(*connection, side);
      else
        dead.closed = true;
      look(*connection, 1 - side);
      if (connection->ends[1 - side].closed) over.push_back(number);
    }
  for (const auto number : over) connections_.erase(number);
  // Connects to it are refused now, or not answered.
  for (auto& [_, connect] : connects_) look(connect);
}

template <class Work>
void simulated_network::with_links_of(host_number a, host_number b, Work work) {
  for (auto& [_, connection] : connections_) {
    const auto& ends = connection->ends;
    if (std::minmax(ends[0].host, ends[1].host) == std::minmax(a, b)) work(*connection);
  }
  for (auto& [_, connect] : connects_)
    if (std::minmax(connect.process->host(), connect.host) == std::minmax(a, b)) look(connect);
}

void simulated_network::cut(host_number from, host_number to) {
  cut_.emplace(from, to);
  with_links_of(from, to, [this](simulated_connection& link) {
    look(link, 0);
    look(link, 1);
  });
}

void simulated_network::slow(host_number from, host_number to, const link_slowness& by) {
  slow_.insert_or_assign({from, to}, by);
}

std::set<std::pair<host_number, host_number>> simulated_network::bad_links() const {
  std::set<std::pair<host_number, host_number>> result;
  for (const auto& [a, b] : cut_) result.insert(std::minmax(a, b));
  for (const auto& [link, _] : slow_) result.insert(std::minmax(link.first, link.second));
  return result;
}

void simulated_network::heal(host_number a, host_number b) {
  for (const auto& direction : {std::pair{a, b}, std::pair{b, a}}) {
    cut_.erase(direction);
    slow_.erase(direction);
  }
  constexpr auto interval = static_cast<std::uint64_t>(duration{tcp_connector_options{}.attempt_interval}.count());
  for (auto& [_, connect] : connects_)
    if (std::minmax(connect.process->host(), connect.host) == std::minmax(a, b))
      connect.answered =
          std::max(connect.answered, plan_.now() + duration{static_cast<duration::rep>(random_.below(interval))});
  with_links_of(a, b, [this](simulated_connection& link) {
    look(link, 0);
    look(link, 1);
  });
}

void simulated_network::break_links(host_number a, host_number b) {
  with_links_of(a, b, [this](simulated_connection& link) {
    for (auto& receiver : link.ends) {
      lose_some(receiver);
      receiver.closes = std::min(receiver.closes, std::max(receiver.last_arrival, plan_.now()));
    }
    if (link.ends[1].opens != never) link.ends[1].closed = true;
    look(link, 0);
    look(link, 1);
  });
}

void simulated_network::silence_links(host_number a, host_number b) {
  with_links_of(a, b, [this](simulated_connection& link) {
    link.silenced = true;
    look(link, 0);
    look(link, 1);
  });
}

void simulated_network::look_at_all() {
  for (auto& [_, connection] : connections_) {
    look(*connection, 0);
    look(*connection, 1);
  }
  for (auto& [_, connect] : connects_) look(connect);
}

duration simulated_network::latency(host_number from, host_number to) {
  const auto drawn = [this](duration least, duration most) {
    const auto range = static_cast<std::uint64_t>((most - least).count()) + 1;
    return least + duration{static_cast<duration::rep>(random_.below(range))};
  };
  const auto usual = drawn(latency_.least, latency_.most);
  const auto slow = slow_.find({from, to});
  if (slow == slow_.end()) return usual;
  if (slow->second.jitter != duration::zero()) plan_.touch_shared();
  return usual + drawn(slow->second.latency, slow->second.latency + slow->second.jitter);
}

duration simulated_network::transfer_time(host_number from, host_number to, std::uint64_t bytes) const {
  const auto slow = slow_.find({from, to});
  if (slow == slow_.end() || slow->second.bytes_per_second == 0) return {};
  const auto seconds = static_cast<double>(bytes) / static_cast<double>(slow->second.bytes_per_second);
  return std::chrono::duration_cast<duration>(std::chrono::duration<double>{seconds});
}

// --- connects -------------------------------------------------------------------------------------------------------

void simulated_network::connect(simulated_process& from, const task_address& where, duration limit,
                                connector::ended done) {
  if (!runs(from)) return done({}, {status_code::unavailable, "the process ends"});
  const auto host = find_host(where.host);
  if (!host) return done({}, {status_code::unavailable, "no connection to " + to_string(where) + ": no such host"});
  const auto number = ++last_number_;
  auto& made = connects_[number];
  made.process = &from;
  made.where = where;
  made.host = *host;
  made.answered = plan_.now() + latency(from.host(), *host) + latency(*host, from.host());
  made.deadline = later(plan_.now(), limit);
  made.done = std::move(done);
  made.alarm.emplace(plan_, &from, "connect", [this, number] { return end_connect(number); });
  look(made);
}

bool simulated_network::answers(const open_connect& connect) const {
  return !off_.contains(connect.host) && connects(connect.process->host(), connect.host);
}

void simulated_network::look(open_connect& connect) const {
  if (connect.process->stands_still()) return connect.alarm->set(never);
  connect.alarm->set(answers(connect) ? std::min(connect.answered, connect.deadline) : connect.deadline);
}

bool simulated_network::end_connect(std::uint64_t number) {
  plan_.touch_shared();
  const auto why = why_unconnected(connects_.at(number));
  if (!why) {
    auto& unheard = connects_.at(number);
    unheard.answered = never;
    look(unheard);
    return true;
  }
  const auto ended = connects_.extract(number);
  const auto& connect = ended.mapped();
  if (!why->ok())
    connect.done({}, *why);
  else
    connect.done(
        [to = connect.where](caf::io::network::multiplexer& network) -> caf::io::scribe_ptr {
          auto made = network.new_tcp_scribe(to.host, to.port);
          return made ? *made : nullptr;
        },
        {});
  return true;
}

/// Ok if it is; nothing if the other side has not said enough, and will not.
std::optional<status> simulated_network::why_unconnected(const open_connect& connect) {
  const auto where = to_string(connect.where);
  if (!answers(connect) || connect.answered > connect.deadline)
    return status{status_code::deadline_exceeded, where + " did not answer"};
  if (strangers_.contains(connect.host)) return meet_stranger_at_door(*connect.process, words_of_stranger());
  if (!doormen_.contains({connect.host, connect.where.port}))
    return status{status_code::unavailable, "no connection to " + where + ": refused"};
  const auto met = meet_at_door(*connect.process, *processes_[connect.host]);
  return met.ok() ? met : met.wrap("the door of " + where);
}

// --- connections ----------------------------------------------------------------------------------------------------

caf::io::doorman_ptr simulated_network::listen(simulated_process& at, std::uint16_t port) {
  constexpr std::uint16_t first_free = 49152;
  // What a process does while it ends reaches nobody.
  if (!runs(at)) return nullptr;
  plan_.touch_shared();
  if (port == 0)
    for (port = first_free; doormen_.contains({at.host(), port});) ++port;
  auto& entry = doormen_[{at.host(), port}];
  if (entry != nullptr) return nullptr;
  auto made = caf::make_counted<simulated_doorman>(caf::io::accept_handle::from_int(++last_handle_), at, port);
  entry = made.get();
  return made;
}

void simulated_network::stop_listening(const simulated_process& at, std::uint16_t port) {
  if (!runs(at)) return;
  plan_.touch_shared();
  doormen_.erase({at.host(), port});
}

caf::io::scribe_ptr simulated_network::dial(simulated_process& from, const std::string& host, std::uint16_t port) {
  const auto to = find_host(host);
  if (!to || !runs(from)) return nullptr;
  plan_.touch_shared();
  auto made = make_connection(from, *to, port);
  auto& [dialler, listener] = made->ends;
  if (off_.contains(*to)) {
    listener.closed = true;
  } else if (!doormen_.contains({*to, port})) {
    set_closed(*made, 1);
  } else {
    auto& process = *processes_[*to];
    listener.process = &process;
    listener.handle = new_handle();
    from.peers().expect(dialler.handle.id(), shown_to(from, process));
    made->visitor = shown_to(process, from);
    listener.opens = plan_.now() + latency(from.host(), *to);
    listener.alarm.emplace(plan_, &process, "arrival", [this, number = made->number] { return deliver(number, 1); });
    look(*made, 1);
  }
  return caf::make_counted<simulated_scribe>(from, made, std::size_t{0});
}

void simulated_network::abandon(simulated_process& by, caf::io::connection_handle which) {
  for (auto& [_, connection] : connections_)
    for (std::size_t side = 0; side < 2; ++side) {
      auto& end = connection->ends[side];
      if (end.process != &by || end.handle != which || end.scribe == nullptr || end.scribe->detached()) continue;
      const caf::io::scribe_ptr scribe{end.scribe};
      close(*connection, side);
      return scribe->io_failure(&by.multiplexer(), caf::io::network::operation::read);
    }
}

std::shared_ptr<simulated_connection> simulated_network::make_connection(simulated_process& from, host_number to,
                                                                         std::uint16_t port) {
  auto made = std::make_shared<simulated_connection>();
  made->number = ++last_number_;
  made->port = port;
  auto& dialler = made->ends[0];
  dialler.host = from.host();
  dialler.process = &from;
  dialler.handle = new_handle();
  dialler.alarm.emplace(plan_, &from, "arrival", [this, number = made->number] { return deliver(number, 0); });
  made->ends[1].host = to;
  connections_.emplace(made->number, made);
  return made;
}

std::string simulated_network::words_of_stranger() {
  constexpr std::size_t words_max = 64;
  std::string words(random_.below(words_max), '\0');
  for (auto& each : words) each = static_cast<char>(random_());
  return words;
}

void simulated_network::send(simulated_connection& connection, std::size_t side, std::vector<char> bytes) {
  auto& sender = connection.ends[side];
  auto& receiver = connection.ends[1 - side];
  if (sender.process == nullptr) return;
  bytes_sent_[sender.host] += bytes.size();
  // An end that is to hear of a close hears of nothing after it.
  if (receiver.closed || receiver.closes != never) return;
  receiver.last_arrival = std::max(receiver.last_arrival, plan_.now() + latency(sender.host, receiver.host)) +
                          transfer_time(sender.host, receiver.host, bytes.size());
  if (watcher_ == nullptr && !records_)
    receiver.incoming.push_back({receiver.last_arrival, std::move(bytes)});
  else
    send_frames(sender, receiver, bytes);
  look(connection, 1 - side);
}

void simulated_network::send_frames(const simulated_end& sender, simulated_end& receiver,
                                    const std::vector<char>& bytes) {
  const auto frames = frames_of(bytes);
  std::vector<fate> fates;
  for (const auto& frame : frames) {
    fates.push_back(frame.is_message && watcher_ != nullptr ? watcher_->sent(sender.host, receiver.host, frame.bytes)
                                                            : fate{});
    if (frame.is_message && records_)
      recorded_.push_back({plan_.now(), receiver.last_arrival + fates.back().late, fates.back().lost, sender.host,
                           receiver.host, content_of(frame.bytes)});
  }
  // A run is the same whether somebody looks on or not.
  if (std::all_of(fates.begin(), fates.end(), [](const fate& each) { return each == fate{}; }))
    return receiver.incoming.push_back({receiver.last_arrival, bytes});
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (fates[i].lost) continue;
    const auto arrival = receiver.last_arrival + fates[i].late;
    auto& waiting = receiver.incoming;
    auto place = waiting.end();
    while (place != waiting.begin() && std::prev(place)->arrival > arrival) --place;
    for (auto copies = fates[i].twice ? 2 : 1; copies != 0; --copies)
      place = waiting.insert(place, {arrival, arriving(frames[i].bytes, fates[i])});
  }
}

std::vector<char> simulated_network::arriving(std::span<const char> frame, const fate& its) {
  std::vector<char> result{frame.begin(), frame.end()};
  const auto content = std::span{result}.subspan(caf::io::basp::header_size);
  if (!its.corrupted || content.empty()) return result;
  constexpr std::uint64_t places_max = 4;
  for (auto places = 1 + corruption_.below(places_max); places != 0; --places) {
    // Never the byte that it was.
    const auto change = 1 + corruption_.below(255);
    content[corruption_.below(content.size())] ^= static_cast<char>(change);
  }
  return result;
}

void simulated_network::close(simulated_connection& connection, std::size_t side) {
  auto& closing = connection.ends[side];
  if (closing.closed || closing.process == nullptr) return;
  set_closed(connection, side);
  look(connection, side);
  look(connection, 1 - side);
  if (connection.ends[1 - side].closed) connections_.erase(connection.number);
}

void simulated_network::set_closed(simulated_connection& connection, std::size_t side) {
  auto& closing = connection.ends[side];
  auto& other = connection.ends[1 - side];
  closing.closed = true;
  closing.incoming.clear();
  closing.arrived.clear();
  other.closes = std::min(other.closes, std::max(other.last_arrival, plan_.now() + latency(closing.host, other.host)));
  // A listener that has not heard of the connection never will.
  if (other.opens != never) other.closed = true;
}

void simulated_network::lose_some(simulated_end& receiver) {
  if (random_.below(2) == 0) return;
  auto& waiting = receiver.incoming;
  if (waiting.empty()) return;
  waiting.resize(1 + random_.below(waiting.size()));
  auto& last = waiting.back().bytes;
  last.resize(random_.below(last.size() + 1));
}

// --- arrivals -------------------------------------------------------------------------------------------------------

bool simulated_network::passes(const simulated_connection& connection, std::size_t to) const {
  return !connection.silenced && !is_cut(connection.ends[1 - to].host, connection.ends[to].host);
}

time_point simulated_network::due(simulated_connection& connection, std::size_t side) const {
  auto& receiver = connection.ends[side];
  if (receiver.closed || receiver.process == nullptr || receiver.process->stands_still()) return never;
  const auto open = passes(connection, side);
  if (receiver.opens != never) return open ? receiver.opens : never;
  // The dialler's broker has not taken the connection over yet.
  if (receiver.scribe == nullptr || !receiver.scribe->attached()) return never;
  // What has arrived already can be read although the link is cut now.
  if (receiver.scribe->can_read(receiver.arrived)) return plan_.now();
  if (!open) return never;
  return receiver.incoming.empty() ? receiver.closes : receiver.incoming.front().arrival;
}

void simulated_network::look(simulated_connection& connection, std::size_t side) {
  auto& end = connection.ends[side];
  if (end.alarm) end.alarm->set(due(connection, side));
}

bool simulated_network::deliver(std::uint64_t number, std::size_t side) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return false;
  // Whoever reads may end the connection.
  const auto connection = found->second;
  auto& receiver = connection->ends[side];
  auto happened = true;
  if (receiver.opens != never) {
    accept(*connection);
  } else {
    if (passes(*connection, side))
      while (!receiver.incoming.empty() && receiver.incoming.front().arrival <= plan_.now()) {
        const auto& bytes = receiver.incoming.front().bytes;
        receiver.arrived.insert(receiver.arrived.end(), bytes.begin(), bytes.end());
        receiver.incoming.pop_front();
      }
    happened = receiver.scribe != nullptr && (receiver.scribe->read(receiver.arrived) || hear_close(*connection, side));
  }
  look(*connection, side);
  if (connection->ends[0].closed && connection->ends[1].closed) connections_.erase(number);
  return happened;
}

void simulated_network::accept(simulated_connection& connection) {
  auto& listener = connection.ends[1];
  listener.opens = never;
  const auto door = doormen_.find({listener.host, connection.port});
  if (door == doormen_.end() || door->second->detached()) {
    set_closed(connection, 1);
    return look(connection, 0);
  }
  listener.process->peers().expect(listener.handle.id(), connection.visitor);
  door->second->accept(
      caf::make_counted<simulated_scribe>(*listener.process, connections_.at(connection.number), std::size_t{1}));
}

bool simulated_network::hear_close(simulated_connection& connection, std::size_t side) {
  auto& receiver = connection.ends[side];
  if (!passes(connection, side) || !receiver.incoming.empty() || receiver.closes > plan_.now()) return false;
  const caf::io::scribe_ptr scribe{receiver.scribe};
  receiver.closed = true;
  scribe->io_failure(&receiver.process->multiplexer(), caf::io::network::operation::read);
  return true;
}

}  // namespace troupe

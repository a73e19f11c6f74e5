#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/membership/failure_detector.hpp>

#include <fmt/format.h>

namespace troupe {

void failure_detector_options::check() const {
  if (ping_interval <= duration::zero() || silence_max < 4 * ping_interval)
    throw invalid_argument_error{
        fmt::format("a failure detector with pings every {} ms and silence_max {} ms would suspect healthy peers: "
                    "silence_max must be at least four intervals",
                    in_milliseconds(ping_interval), in_milliseconds(silence_max))};
}

failure_detector_actor::behavior_type failure_detector_state::make_behavior(suspicion_listener owner,
                                                                            failure_detector_options options) {
  tolerate_stray_messages(self_);
  owner_ = std::move(owner);
  options_ = options;
  last_tick_ = clock_.now();
  clock_.after(options_.ping_interval, [this] { tick(); });
  self_->set_down_handler([this](caf::down_msg& down) {
    for (const auto& [key, peer] : watched_)
      if (peer.peer.address() == down.source) return suspect(key, status_of(down.reason, "its link broke"));
  });
  return {
      [this](watch_atom, std::uint64_t key, const pingable_actor& peer) {
        self_->monitor(peer);
        auto& entry = watched_[key] = {peer, clock_.now()};
        ping(key, entry);
      },
      [this](dismiss_atom, std::uint64_t key) {
        const auto found = watched_.find(key);
        if (found == watched_.end()) return;
        self_->demonitor(found->second.peer.address());
        watched_.erase(found);
      },
  };
}

void failure_detector_state::tick() {
  const auto now = clock_.now();
  const auto frozen = now - last_tick_ > options_.silence_max / 2;
  last_tick_ = now;
  std::vector<std::uint64_t> silent;
  for (auto& [key, peer] : watched_) {
    if (frozen) peer.last_heard = now;
    if (now - peer.last_heard > options_.silence_max)
      silent.push_back(key);
    else
      ping(key, peer);
  }
  for (const auto key : silent)
    suspect(key, {status_code::unavailable, fmt::format("nothing was heard of it for {} ms; it is frozen or cut off",
                                                        in_milliseconds(options_.silence_max))});
  clock_.after(options_.ping_interval, [this] { tick(); });
}

void failure_detector_state::ping(std::uint64_t key, watched& peer) {
  requests_.ask(
      peer.peer, options_.silence_max, "ping",
      [this, key, peer = peer.peer](std::uint64_t) {
        const auto found = watched_.find(key);
        if (found != watched_.end() && found->second.peer == peer) found->second.last_heard = clock_.now();
      },
      [](const status&) {}, alive_atom_v, ++pings_);
}

void failure_detector_state::suspect(std::uint64_t key, const status& why) {
  const auto found = watched_.find(key);
  const auto peer = found->second.peer;
  watched_.erase(found);
  self_->demonitor(peer.address());
  requests_.lost(peer.address(), why);
  self_->send(owner_, suspect_atom_v, key, wire<status>{why});
}

failure_detector_actor::behavior_type failure_detector(failure_detector_state::pointer self, suspicion_listener owner,
                                                       failure_detector_options options) {
  return self->state.make_behavior(std::move(owner), options);
}

}  // namespace troupe

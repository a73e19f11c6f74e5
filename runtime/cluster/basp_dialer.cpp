#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/runtime/cluster/basp_dialer.hpp>
#include <troupe/runtime/cluster/with_basp_broker.hpp>

#include <algorithm>
#include <utility>

namespace troupe {

basp_dialer::basp_dialer(caf::scheduled_actor* self, std::shared_ptr<connector> connects, dial_options options)
    : self_(self),
      connects_(std::move(connects)),
      options_(options),
      clock_(self),
      requests_(self, clock_),
      broker_(basp_broker_of(self->system())) {}

void basp_dialer::dial(const task_address& where, answer done) {
  auto& waiting = waiting_[where];
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) return;
  struct outcome {
    connector::connection opened;
    status why;
  };
  const auto ended = std::make_shared<outcome>();
  const auto deadline = later(clock_.now(), options_.dial_limit);
  auto hear =
      make_notifier(self_, [this, where, deadline, ended] { connected(where, deadline, ended->opened, ended->why); });
  connects_->connect(where, options_.dial_limit,
                     [ended, hear = std::move(hear)](connector::connection opened, const status& why) {
                       *ended = {std::move(opened), why};
                       hear();
                     });
}

void basp_dialer::connected(const task_address& where, time_point deadline, const connector::connection& opened,
                            const status& why) {
  if (!why.ok()) return finish(where, nullptr, {}, why);
  auto scribe = opened(self_->system().middleman().backend());
  if (!scribe)
    return finish(where, nullptr, {}, {status_code::unavailable, "the connection to " + to_string(where) + " broke"});
  const auto handle = scribe->hdl();
  // A handshake gets some time even when connecting has taken nearly all.
  constexpr duration handshake_min = std::chrono::milliseconds{100};
  requests_.ask(
      caf::actor_cast<broker_actor>(broker_), std::max(deadline - clock_.now(), handshake_min),
      "shaking hands with " + to_string(where),
      [this, where](const caf::node_id&, const caf::strong_actor_ptr& published,
                    const std::set<std::string>& interface) { finish(where, published, interface, {}); },
      [this, where, handle](const status& failed) {
        close_unanswered(handle);
        finish(where, nullptr, {}, failed);
      },
      caf::connect_atom_v, std::move(scribe), where.port);
}

/// Otherwise a connection to a silent listener would stay open for as long as the listener does.
void basp_dialer::close_unanswered(caf::io::connection_handle which) {
  with_basp_broker(self_->system(), broker_, [which, connects = connects_](caf::io::basp_broker& broker) {
    const auto found = broker.ctx.find(which);
    if (found != broker.ctx.end() && found->second.callback) connects->close(which);
  });
}

void basp_dialer::hang_up(const caf::node_id& process) {
  with_basp_broker(self_->system(), broker_, [process, connects = connects_](caf::io::basp_broker& broker) {
    if (const auto link = broker.instance.tbl().lookup_direct(process)) connects->close(*link);
  });
}

void basp_dialer::finish(const task_address& where, const caf::strong_actor_ptr& published,
                         const std::set<std::string>& interface, const status& why) {
  const auto waiting = waiting_.extract(where);
  if (waiting.empty()) return;
  for (const auto& done : waiting.mapped()) done(published, interface, why);
}

}  // namespace troupe

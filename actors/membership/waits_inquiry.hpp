// Questions to several processes about who waits there: `troupe why`, `cluster::why`, a deadline that was missed.
//
// Each process has the asker's limit to answer. Of those that have not answered then the answer says so, since a
// process that is silent is often the cause.
#pragma once

#include <troupe/actors/fibers/requests.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/typed_response_promise.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace troupe {

/// What this process says of itself. In a simulation: of this system.
process_waits waits_of(const caf::actor_system& system, const member_identity& self, time_point now);

/// One question. It is answered when everything that was begun has ended.
class waits_inquiry : public std::enable_shared_from_this<waits_inquiry> {
 public:
  using answer = caf::typed_response_promise<wire<cluster_waits>>;

  waits_inquiry(answer promise, duration limit) : promise_(std::move(promise)), limit_(limit) {}

  const answer& promise() const { return promise_; }
  duration limit() const { return limit_; }
  void add(process_waits told) { found.processes.push_back(std::move(told)); }
  /// Asks a process of which so much is known.
  template <class Handle>
  void ask(requests& by, const Handle& process, process_waits known) {
    begin_one();
    const auto place = found.processes.size();
    add(std::move(known));
    const auto self = shared_from_this();
    by.ask(
        process, limit_, fmt::format("asking {} who waits there", to_string(found.processes[place].task)),
        [self, place](wire<process_waits>& told) {
          if (auto problem = told.open(); problem.ok())
            self->found.processes[place] = *told;
          else
            self->found.processes[place].silent = std::move(problem);
          self->end_one();
        },
        [self, place](const status& why) {
          self->found.processes[place].silent = why;
          self->end_one();
        },
        waits_atom_v);
  }
  void begin_one() { ++open_; }
  void end_one() {
    if (open_ != 0 && --open_ == 0) promise_.deliver(wire<cluster_waits>{std::move(found)});
  }
  bool is_open() const { return open_ != 0; }
  void fail(const status& why) {
    if (std::exchange(open_, 0) != 0) promise_.deliver(make_error(why));
  }

  cluster_waits found;

 private:
  answer promise_;
  duration limit_;
  /// One more, which its maker ends.
  std::size_t open_ = 1;
};

/// Those that an actor has open.
class waits_inquiries {
 public:
  static constexpr std::size_t open_max = 16;
  static constexpr duration limit_max = std::chrono::minutes{1};
  static status too_many();

  /// Null: there are too many. Limits that can't be are brought to the nearest that can.
  template <class Self>
  std::shared_ptr<waits_inquiry> begin(Self* self, duration limit) {
    std::erase_if(open_, [](const auto& each) { return !each->is_open(); });
    if (open_.size() >= open_max) return nullptr;
    const duration bounded = std::clamp<duration>(limit, std::chrono::milliseconds{1}, limit_max);
    open_.push_back(
        std::make_shared<waits_inquiry>(self->template make_response_promise<waits_inquiry::answer>(), bounded));
    return open_.back();
  }
  void end_all(const status& why) {
    for (const auto& each : open_) each->fail(why);
  }

 private:
  std::vector<std::shared_ptr<waits_inquiry>> open_;
};

}  // namespace troupe

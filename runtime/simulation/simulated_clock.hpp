// The clock of one simulated process: the agenda's time, plus what the process's own clock is ahead of it.
//
// CAF's testing clock keeps the timeouts; this one tells the process whenever there may be an earlier one.
#pragma once

#include <troupe/runtime/simulation/agenda.hpp>

#include <caf/detail/test_actor_clock.hpp>

#include <functional>
#include <utility>

namespace troupe {

class simulated_clock final : public caf::detail::test_actor_clock {
 public:
  simulated_clock(const agenda& of, std::function<void()> changed) : agenda_(of), changed_(std::move(changed)) {}

  time_point now() const noexcept override { return agenda_.now() + ahead; }
  /// On the agenda's time; `never` if there is none.
  caf::actor_clock::time_point next_timeout() const {
    return schedule().empty() ? never : schedule().begin()->first - ahead;
  }

  void set_ordinary_timeout(time_point when, caf::abstract_actor* whose, caf::atom_value type,
                            std::uint64_t id) override {
    test_actor_clock::set_ordinary_timeout(when, whose, type, id);
    changed_();
  }
  void set_multi_timeout(time_point when, caf::abstract_actor* whose, caf::atom_value type, std::uint64_t id) override {
    test_actor_clock::set_multi_timeout(when, whose, type, id);
    changed_();
  }
  void set_request_timeout(time_point when, caf::abstract_actor* whose, caf::message_id id) override {
    test_actor_clock::set_request_timeout(when, whose, id);
    changed_();
  }
  void schedule_message(time_point when, caf::strong_actor_ptr receiver, caf::mailbox_element_ptr content) override {
    test_actor_clock::schedule_message(when, std::move(receiver), std::move(content));
    changed_();
  }
  void schedule_message(time_point when, caf::group target, caf::strong_actor_ptr sender,
                        caf::message content) override {
    test_actor_clock::schedule_message(when, std::move(target), std::move(sender), std::move(content));
    changed_();
  }

  duration ahead{};

 private:
  const agenda& agenda_;
  std::function<void()> changed_;
};

}  // namespace troupe

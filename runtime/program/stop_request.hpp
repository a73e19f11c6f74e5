// A process that is to end before its program does, as the program's thread and whoever knows why share it: it was told
// to by a signal, or its actors can't go on.
#pragma once

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/device/base/error.hpp>

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace troupe {

class stop_request {
 public:
  /// While it lives, `interrupt` ends the waits of the thread that made it.
  class interrupted {
   public:
    explicit interrupted(stop_request& of) : of_(of) {
      const std::scoped_lock lock{of_.mutex_};
      of_.interrupts_ = &interruption_;
      if (of_.interrupts_now_) interruption_.interrupt(of_.reason());
    }
    ~interrupted() {
      const std::scoped_lock lock{of_.mutex_};
      of_.interrupts_ = nullptr;
    }
    interrupted(const interrupted&) = delete;

   private:
    stop_request& of_;
    interruption interruption_;
  };

  void announce(const std::string& signal) {
    const std::scoped_lock lock{mutex_};
    why_ = {status_code::cancelled, "this process was told to end by " + signal};
  }
  void interrupt() {
    const std::scoped_lock lock{mutex_};
    interrupts_now_ = true;
    if (interrupts_ != nullptr) interrupts_->interrupt(reason());
  }
  /// Interrupts at once; the first failure counts, and none after a signal.
  void fail(const status& why) {
    const std::scoped_lock lock{mutex_};
    if (!why_.ok() || !failure_.ok()) return;
    failure_ = why;
    interrupts_now_ = true;
    if (interrupts_ != nullptr) interrupts_->interrupt(reason());
  }
  /// Nothing: it was not told to end.
  std::optional<status> why() const {
    const std::scoped_lock lock{mutex_};
    return why_.ok() ? std::nullopt : std::optional{why_};
  }

  /// What it failed with; nothing: it did not.
  std::optional<status> failure() const {
    const std::scoped_lock lock{mutex_};
    return failure_.ok() ? std::nullopt : std::optional{failure_};
  }
  /// A wait of the program's thread that was cancelled is no news then.
  bool is_known() const { return why() || failure(); }

  /// What is done once: by the program's thread when it has left the program, or beside it. Setting it waits for an act
  /// that is under way.
  void set_last_act(std::function<void()> act) {
    const std::scoped_lock lock{act_mutex_};
    last_act_ = std::move(act);
  }
  void do_last_act() {
    const std::scoped_lock lock{act_mutex_};
    if (const auto act = std::exchange(last_act_, nullptr)) act();
  }

 private:
  /// What waits are ended with.
  status reason() const {
    return failure_.ok() ? why_ : failure_.wrap(status_code::cancelled, "the actors of this program can't go on");
  }

  mutable std::mutex mutex_;
  status why_;
  status failure_;
  bool interrupts_now_ = false;
  interruption* interrupts_ = nullptr;
  std::mutex act_mutex_;
  std::function<void()> last_act_;
};

}  // namespace troupe

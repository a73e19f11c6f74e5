// What an actor or a program of a simulation will answer: looked at between steps, never waited for.
#pragma once

#include <troupe/device/base/error.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace troupe {

/// Copies share it.
template <class T>
class eventual {
 public:
  struct content {
    bool ended = false;
    status problem;
    std::optional<T> value;
    void end(status why) {
      if (!std::exchange(ended, true)) problem = std::move(why);
    }
  };

  explicit eventual(std::shared_ptr<content> shared) : shared_(std::move(shared)) {}
  bool ended() const { return shared_->ended; }
  /// Why there is no value; ok if there is one, or nothing yet.
  const status& problem() const { return shared_->problem; }
  /// Only if it has ended without a problem.
  const T& operator*() const { return shared_->value.value(); }
  const T* operator->() const { return &**this; }

 private:
  std::shared_ptr<content> shared_;
};

}  // namespace troupe

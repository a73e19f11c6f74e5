// SIGTERM, for a program of a test that runs until it is told to end.
#pragma once

#include <csignal>

namespace troupe {

/// Made before there are other threads, which inherit that the signal does not end them.
class end_signal {
 public:
  end_signal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }
  void wait() const {
    auto number = 0;
    ::sigwait(&signals_, &number);
  }

 private:
  sigset_t signals_{};
};

}  // namespace troupe

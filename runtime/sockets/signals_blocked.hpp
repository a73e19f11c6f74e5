// Threads of troupe's own handle no signals.
#pragma once

#include <csignal>

#include <pthread.h>

namespace troupe {

/// Blocks all signals while a thread starts, so that the thread inherits that: signals are the application's business.
class signals_blocked {
 public:
  signals_blocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace troupe

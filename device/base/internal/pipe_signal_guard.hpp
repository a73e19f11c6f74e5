// Writing to a connection whose other end is gone must be an error, not the end of the process. Private to the library.
//
// The kernel sends SIGPIPE to a thread that writes there, and a library that writes may not know better (gloo). What a
// process does about signals is its own affair, so nothing is changed for the process: the signal is blocked in this
// thread for a while, and taken away if it came.
#pragma once

#include <csignal>
#include <ctime>

namespace troupe {

/// For one scope. Threads that are started inside keep the signal blocked.
class pipe_signal_guard {
 public:
  pipe_signal_guard() noexcept {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~pipe_signal_guard() {
    if (::sigismember(&before_, SIGPIPE) != 0) return;
    const std::timespec at_once{};
    ::sigtimedwait(&pipe_, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  pipe_signal_guard(const pipe_signal_guard&) = delete;
  pipe_signal_guard& operator=(const pipe_signal_guard&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
};

}  // namespace troupe

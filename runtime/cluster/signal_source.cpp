#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/signal_source.hpp>

#include <sys/signalfd.h>
#include <unistd.h>

namespace troupe {

signal_source::signal_source(std::initializer_list<int> signals) {
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const auto number : signals) ::sigaddset(&watched, number);
  signals_ = descriptor{::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!signals_) {
    throw resource_exhausted_error{"no file descriptor for signals; raise the limit of open files (ulimit -n)"};
  }
  ::pthread_sigmask(SIG_BLOCK, &watched, &mask_before_);
}

signal_source::~signal_source() { ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr); }

std::optional<int> signal_source::next() const {
  signalfd_siginfo info = {};
  if (::read(signals_.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace troupe

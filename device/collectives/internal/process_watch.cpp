#include <troupe/device/base/error.hpp>
#include <troupe/device/collectives/internal/process_watch.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include <sys/syscall.h>
#include <unistd.h>

namespace troupe {

namespace {

descriptor open_process(int member, pid_t pid) {
  if (pid == ::getpid()) return {};
  // glibc 2.36 declares pidfd_open without C linkage, so the system call is made directly. It sets close-on-exec.
  descriptor opened{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  if (opened) return opened;
  const auto reason = errno;
  if (reason == ESRCH) throw unavailable_error{fmt::format("rank {} (process {}) has ended", member, pid)};
  throw resource_exhausted_error{
      fmt::format("rank {} (process {}) cannot be watched: pidfd_open: {}; needs Linux 5.3 and a free descriptor "
                  "(ulimit -n)",
                  member, pid, std::strerror(reason))};
}

}  // namespace

process_watch::process_watch(std::vector<pid_t> processes) : processes_(std::move(processes)) {
  for (auto member = 0; member < static_cast<int>(processes_.size()); ++member) {
    descriptors_.push_back(open_process(member, pid(member)));
    watched_.push_back({descriptors_.back().get(), POLLIN, 0});
  }
}

void process_watch::look() noexcept {
  // What fails is tried again at the next look.
  ::poll(watched_.data(), watched_.size(), 0);
}

}  // namespace troupe

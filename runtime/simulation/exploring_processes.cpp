#include <troupe/actors/fibers/crash_report.hpp>
#include <troupe/device/base/internal/memory_file.hpp>
#include <troupe/runtime/simulation/exploring_processes.hpp>

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe {

namespace {

/// What a process tells, in memory that it shares with the one that made it.
struct progress {
  std::atomic<std::uint64_t> runs{0};
  /// Of the run that it is in, or was in last.
  std::atomic<std::uint64_t> seed{0};
  std::atomic<bool> fails{false};
};

class shared_progress {
 public:
  explicit shared_progress(std::size_t count) : bytes_(count * sizeof(progress)) {
    auto* const made = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
      throw resource_exhausted_error{fmt::format("no memory to share with processes: {}", std::strerror(errno))};
    all_ = static_cast<progress*>(made);
    std::uninitialized_default_construct_n(all_, count);
  }
  ~shared_progress() { ::munmap(all_, bytes_); }
  shared_progress(const shared_progress&) = delete;

  progress& operator[](std::size_t which) { return all_[which]; }

 private:
  std::size_t bytes_;
  progress* all_ = nullptr;
};

/// A text that one process writes and another one reads, in memory.
class shared_text {
 public:
  shared_text() : file_(make_memory_file("troupe search")) {
    if (!file_)
      throw resource_exhausted_error{fmt::format("no memory to share with processes: {}", std::strerror(errno))};
  }
  shared_text(const shared_text&) = delete;

  /// False: there was no room for it.
  bool write(const std::string& text) const {
    return ::pwrite(file_.get(), text.data(), text.size(), 0) == static_cast<::ssize_t>(text.size());
  }
  std::string read() const {
    std::string result(static_cast<std::size_t>(::lseek(file_.get(), 0, SEEK_END)), '\0');
    if (::pread(file_.get(), result.data(), result.size(), 0) != static_cast<::ssize_t>(result.size())) result.clear();
    return result;
  }

 private:
  descriptor file_;
};

/// Runs its share: every `step`-th seed from `first` on.
void explore_share(const std::function<bool(std::uint64_t)>& fails, const exploration_options& options,
                   std::size_t first, std::size_t step, progress& tells) {
  const auto begin = std::chrono::steady_clock::now();
  const auto known = options.known_seeds.size();
  const auto count = known + options.runs;
  for (auto i = first; i < count; i += step) {
    if (i >= known && i >= step && std::chrono::steady_clock::now() - begin > options.budget) return;
    tells.seed = i < known ? options.known_seeds[i] : options.first_seed + (i - known);
    ++tells.runs;
    if (!fails(tells.seed)) continue;
    tells.fails = true;
    return;
  }
}

/// The children, all of which have ended when it has.
class children {
 public:
  ~children() {
    for (const auto each : running_) ::kill(each, SIGKILL);
    for (const auto each : running_) wait_for(each, 0);
  }
  children() = default;
  children(const children&) = delete;

  /// @throws resource_exhausted_error
  void add(const std::function<void()>& work) {
    // What is in buffers is written once.
    std::fflush(nullptr);
    const auto child = ::fork();
    if (child < 0) throw resource_exhausted_error{fmt::format("no process for a search: {}", std::strerror(errno))};
    if (child == 0) {
      report_crashes_of_fork();
      work();
      // Nothing of the process that it was copied from ends here.
      ::_exit(0);
    }
    running_.push_back(child);
    places_.push_back(places_.size());
  }

  struct ended {
    std::size_t place;
    int status;
  };
  /// Nothing: none has ended meanwhile.
  std::optional<ended> take_ended() {
    for (std::size_t i = 0; i < running_.size(); ++i) {
      const auto status = wait_for(running_[i], WNOHANG);
      if (!status) continue;
      const ended result{places_[i], *status};
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(i));
      return result;
    }
    return std::nullopt;
  }
  bool any() const { return !running_.empty(); }

 private:
  static std::optional<int> wait_for(::pid_t child, int flags) {
    int status = 0;
    ::pid_t done = 0;
    do done = ::waitpid(child, &status, flags);
    while (done < 0 && errno == EINTR);
    return done == child ? std::optional{status} : std::nullopt;
  }

  std::vector<::pid_t> running_;
  std::vector<std::size_t> places_;
};

std::string crash_of(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace

found_in_process explore_in_processes(const std::function<bool(std::uint64_t)>& fails,
                                      const std::function<std::string()>& tell, const exploration_options& options) {
  const auto count = options.processes != 0 ? options.processes : std::max(1U, std::thread::hardware_concurrency());
  shared_progress progresses{count};
  std::vector<shared_text> texts(count);
  children all;
  for (std::size_t i = 0; i < count; ++i)
    all.add([&, i] {
      explore_share(fails, options, i, count, progresses[i]);
      texts[i].write(tell());
    });
  found_in_process result;
  while (all.any() && !result.fails && !result.crash) {
    const auto ended = all.take_ended();
    if (!ended) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
      continue;
    }
    result.seed = progresses[ended->place].seed;
    if (ended->status != 0)
      result.crash = crash_of(ended->status);
    else
      result.told.push_back(texts[ended->place].read());
    result.fails = progresses[ended->place].fails;
  }
  for (std::size_t i = 0; i < count; ++i) result.runs += progresses[i].runs;
  return result;
}

}  // namespace troupe

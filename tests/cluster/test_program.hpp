// What a cluster test's processes run: the other half of a test, written beside it.
//
// A cluster test starts its own executable once for each task. Such a process finds TF_CONFIG set and calls `run_task`
// instead of the test cases; its first argument names the program that the chief runs. The chief tells the test by
// lines of output how far it has come, so that the test acts (kills, freezes, starts again) at the right moment and
// nobody sleeps to wait for anybody.
#pragma once

#include <troupe/runtime/actors.hpp>
#include <troupe/runtime/run.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

/// A program for a test's processes, found by its name. Define it at namespace scope: it registers itself before main.
class test_program {
 public:
  test_program(std::string name, std::function<int(int argc, char** argv)> run);
  test_program(const test_program&) = delete;

  const std::string& name() const { return name_; }

  /// Does what TF_CONFIG says; `argv[1]` names the program. Returns the process's exit code.
  static int run_task(int argc, char** argv);

 private:
  std::string name_;
};

/// One that the chief runs, while workers and servers serve.
class chief_program : public test_program {
 public:
  chief_program(std::string name, std::function<void(cluster&)> body, cluster_options options = {})
      : test_program(std::move(name), [=](int argc, char** argv) { return run(argc, argv, body, options); }) {}
};

/// One that every process runs, as part of a group.
class group_program : public test_program {
 public:
  group_program(std::string name, std::function<void(process_group&)> body, process_group_options options = {})
      : test_program(std::move(name), [=](int argc, char** argv) { return run_group(argc, argv, body, options); }) {}
};

/// Writes a line for the test.
template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... arguments) {
  fmt::print("{}\n", fmt::format(text, std::forward<Args>(arguments)...));
  std::fflush(stdout);
}

/// Ends the chief's program, and so the test, when something is not as it must be.
void require(bool condition, std::string_view what);

/// The events of a cluster, for a thread that waits for them. Hears what happens after its construction.
class event_watch {
 public:
  explicit event_watch(cluster& here);
  ~event_watch();
  event_watch(const event_watch&) = delete;

  /// Takes the first event of this kind about this task that was not taken yet.
  /// @throws deadline_exceeded_error when none comes within the limit.
  event wait_for(event_kind kind, const task_id& task, duration limit = std::chrono::seconds{30});
  /// Takes all events of this kind about tasks of this job that have come until now, and counts them.
  std::size_t take_all(event_kind kind, std::string_view job);

 private:
  struct shared;

  std::shared_ptr<shared> shared_;
  event_listener listener_;
};

/// What `work` throws; ok if it throws nothing.
template <class Work>
status status_of_call(Work work) {
  try {
    work();
    return {};
  } catch (...) {
    return status_of(std::current_exception());
  }
}

}  // namespace troupe

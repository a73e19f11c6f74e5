// Says on stderr what a process was doing in a fiber when a signal like SIGSEGV or SIGABRT ends it.
//
// A closure that crashes its worker takes every other trace with it: without this only "ended by signal 6" remains. A
// fiber that overflows its stack hits the guard page below it, and is told apart by the address. The report is written
// by the signal's handler, on a stack of its own, with calls that are safe there; the process then ends as it would
// have, with the same signal, and leaves its core.
//
// It keeps away from signals that somebody else handles (a sanitizer, the application).
#pragma once

#include <cstddef>

namespace troupe {

/// For the process, once; later calls do nothing. Any thread.
void report_crashes();

/// In a process that was forked from this one to run what may crash: for that process, whatever handled crashes before.
/// A test framework would go on there, with the tests of the process that it was forked from.
void report_crashes_of_fork();

/// For each thread before it runs a fiber: an overflow leaves no room for the handler.
void prepare_crash_report();

/// What runs in this thread; as the fibers say it, in the signal's handler.
struct running_fiber_report {
  /// Of the function; null: unknown.
  const char* function = nullptr;
  /// Null: no fiber runs.
  const void* stack_begin = nullptr;
  std::size_t stack_bytes = 0;
};
running_fiber_report describe_running_fiber() noexcept;

}  // namespace troupe

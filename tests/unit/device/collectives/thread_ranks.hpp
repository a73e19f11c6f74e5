// Ranks of a group as threads, for tests: each runs a function with its communicator.
#pragma once

#include <troupe/device/collectives/thread_communicator.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace troupe {

/// Long enough for any machine: tests that reach it have found a hang.
constexpr auto ample_time = std::chrono::minutes{2};

/// How the function ended on each rank: ok, or what it threw.
template <class Function>
std::vector<status> end_of_ranks(std::vector<std::unique_ptr<communicator>>& ends, Function function) {
  std::vector<status> results(ends.size());
  std::vector<std::thread> threads;
  for (auto i = std::size_t{0}; i < ends.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        function(*ends[i]);
      } catch (...) {
        results[i] = status_of(std::current_exception());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return results;
}

/// Runs the function on the ranks of a new group and throws what a rank has thrown.
template <class Function>
void on_ranks(int size, Function function) {
  auto ends = make_thread_communicators(size);
  for (const auto& end : end_of_ranks(ends, function)) {
    if (!end.ok()) throw_status(end);
  }
}

}  // namespace troupe

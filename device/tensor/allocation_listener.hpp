// Hears of the memory of each tensor before it is allocated, and may refuse it: how simulations show what a program
// does when there is no memory left (fault_plan.hpp, exhaust_memory). Elsewhere it is a look at one variable.
#pragma once

#include <atomic>
#include <cstddef>

namespace troupe {

class allocation_listener {
 public:
  virtual ~allocation_listener() = default;
  /// In any thread. @throws resource_exhausted_error: there is none for these bytes.
  virtual void allocating(std::size_t bytes) = 0;
};

namespace detail {

inline std::atomic<allocation_listener*> allocations{nullptr};

}  // namespace detail

}  // namespace troupe

// Stacks for fibers: mapped on demand, a guard page below each, the last ones used kept for the next fibers.
//
// An overflow hits the guard page and ends the process with SIGSEGV at the culprit; it never writes into a neighbour.
// Belongs to one fiber host, so it takes no lock.
#pragma once

#include <boost/context/stack_context.hpp>

#include <cstddef>
#include <vector>

namespace troupe {

class stack_pool {
 public:
  stack_pool(std::size_t stack_bytes, std::size_t pooled_max);
  ~stack_pool();
  stack_pool(const stack_pool&) = delete;

  /// Throws `resource_exhausted_error` when the system has no more memory or mappings.
  boost::context::stack_context allocate();
  void deallocate(boost::context::stack_context& stack) noexcept;

 private:
  boost::context::stack_context map() const;
  void unmap(boost::context::stack_context& stack) noexcept;

  std::size_t page_bytes_;
  std::size_t stack_bytes_;
  std::size_t pooled_max_;
  std::vector<boost::context::stack_context> free_;
};

}  // namespace troupe

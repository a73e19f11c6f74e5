#include <troupe/actors/fibers/internal/stack_pool.hpp>
#include <troupe/device/base/error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

namespace troupe {

stack_pool::stack_pool(std::size_t stack_bytes, std::size_t pooled_max)
    : page_bytes_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
      stack_bytes_((stack_bytes + page_bytes_ - 1) / page_bytes_ * page_bytes_),
      pooled_max_(pooled_max) {}

stack_pool::~stack_pool() {
  for (auto& stack : free_) unmap(stack);
}

boost::context::stack_context stack_pool::allocate() {
  if (free_.empty()) return map();
  const auto stack = free_.back();
  free_.pop_back();
  return stack;
}

boost::context::stack_context stack_pool::map() const {
  const auto total = stack_bytes_ + page_bytes_;
  auto* low = ::mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (low == MAP_FAILED || ::mprotect(low, page_bytes_, PROT_NONE) != 0) {
    const auto why = errno;
    if (low != MAP_FAILED) ::munmap(low, total);
    throw resource_exhausted_error{fmt::format(
        "no stack of {} bytes for a fiber: {}; let fewer closures run at once (slots) or make stacks smaller",
        stack_bytes_, std::strerror(why))};
  }
  boost::context::stack_context stack;
  stack.size = stack_bytes_;
  stack.sp = static_cast<char*>(low) + total;
  return stack;
}

void stack_pool::deallocate(boost::context::stack_context& stack) noexcept {
  // A fiber that ended leaves frames that never returned. AddressSanitizer would still guard them, in whatever comes to
  // lie there next, even after the memory was unmapped. Without the sanitizer this does nothing.
  ASAN_UNPOISON_MEMORY_REGION(static_cast<char*>(stack.sp) - stack.size, stack.size);
  if (free_.size() < pooled_max_) {
    free_.push_back(stack);
  } else {
    unmap(stack);
  }
}

void stack_pool::unmap(boost::context::stack_context& stack) noexcept {
  ::munmap(static_cast<char*>(stack.sp) - stack_bytes_ - page_bytes_, stack_bytes_ + page_bytes_);
}

}  // namespace troupe

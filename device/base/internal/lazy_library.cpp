#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/lazy_library.hpp>

#include <fmt/format.h>

#include <dlfcn.h>

namespace troupe {

void* lazy_library::symbol(const char* function) {
  std::call_once(once_, [this] {
    handle_ = ::dlopen(name_, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) handle_ = ::dlopen(path_, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) problem_ = ::dlerror();
  });
  if (handle_ == nullptr)
    throw unavailable_error{
        fmt::format("the library {} cannot be loaded: {}; install it, or name its folder in "
                    "LD_LIBRARY_PATH",
                    name_, problem_)};
  if (auto* const found = ::dlsym(handle_, function)) return found;
  throw unavailable_error{fmt::format(
      "the library {} has no function {}; install the version that troupe was built with", name_, function)};
}

}  // namespace troupe

// Shared libraries that are loaded when they are first used. Private to the CUDA part.
//
// NCCL takes 150 MB of memory in every process that is linked with it, cuBLAS as much, whether a GPU is used or not. So
// they are found when somebody calls them.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <utility>

namespace troupe {

/// One library, by the name that the loader knows it by, or else where it was when troupe was built.
class lazy_library {
 public:
  constexpr lazy_library(const char* name, const char* path) : name_(name), path_(path) {}
  lazy_library(const lazy_library&) = delete;

  /// The address of a function. Loads the library if nobody has. @throws unavailable_error
  void* symbol(const char* function);

 private:
  const char* name_;
  const char* path_;
  std::once_flag once_;
  void* handle_ = nullptr;
  std::string problem_;
};

/// A function of such a library; `Signature` is that of its declaration: lazy_function<decltype(ncclAllReduce)>. It is
/// looked up once: the loader has one lock for all.
template <class Signature>
class lazy_function;

template <class Result, class... Args>
class lazy_function<Result(Args...)> {
 public:
  constexpr lazy_function(lazy_library& library, const char* name) : library_(library), name_(name) {}

  Result operator()(Args... arguments) const {
    auto* address = address_.load(std::memory_order_acquire);
    if (address == nullptr) {
      address = library_.symbol(name_);
      address_.store(address, std::memory_order_release);
    }
    return reinterpret_cast<Result (*)(Args...)>(address)(std::forward<Args>(arguments)...);
  }

 private:
  lazy_library& library_;
  const char* name_;
  mutable std::atomic<void*> address_ = nullptr;
};

}  // namespace troupe

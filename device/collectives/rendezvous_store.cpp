#include <troupe/device/base/error.hpp>
#include <troupe/device/collectives/rendezvous_store.hpp>

#include <fmt/format.h>

#include <utility>

namespace troupe {

void memory_rendezvous_store::set(const std::string& key, bytes value) {
  {
    const std::scoped_lock lock{mutex_};
    values_[key] = std::move(value);
  }
  changed_.notify_all();
}

rendezvous_store::bytes memory_rendezvous_store::get(const std::string& key, std::chrono::nanoseconds limit) {
  std::unique_lock lock{mutex_};
  if (!changed_.wait_for(lock, limit, [&] { return values_.contains(key); })) {
    throw deadline_exceeded_error{fmt::format("nobody has set \"{}\" within the limit", key)};
  }
  return values_[key];
}

}  // namespace troupe

#include <troupe/actors/values/bulk.hpp>

#include <mutex>

namespace troupe {

namespace {

struct installed {
  std::mutex mutex;
  std::weak_ptr<bulk_transport> transport;
};

installed& slot() {
  static installed instance;
  return instance;
}

}  // namespace

std::shared_ptr<bulk_transport> bulk_transport::current() {
  auto& here = slot();
  const std::scoped_lock lock{here.mutex};
  return here.transport.lock();
}

void bulk_transport::install(std::shared_ptr<bulk_transport> transport) {
  auto& here = slot();
  const std::scoped_lock lock{here.mutex};
  here.transport = transport;
}

}  // namespace troupe

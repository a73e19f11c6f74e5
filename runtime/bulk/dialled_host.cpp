#include <troupe/runtime/bulk/dialled_host.hpp>

#include <mutex>
#include <set>
#include <utility>

namespace troupe {

namespace {

struct dialled_hosts {
  std::mutex mutex;
  /// One entry for each object.
  std::multiset<std::string> all;

  static dialled_hosts& of_process() {
    static auto& one = *new dialled_hosts;
    return one;
  }
};

}  // namespace

dialled_host::dialled_host(std::string host) : host_(std::move(host)) {
  auto& hosts = dialled_hosts::of_process();
  const std::scoped_lock lock{hosts.mutex};
  hosts.all.insert(host_);
}

dialled_host::~dialled_host() {
  auto& hosts = dialled_hosts::of_process();
  const std::scoped_lock lock{hosts.mutex};
  hosts.all.erase(hosts.all.find(host_));
}

bool dialled_host::is_one(const std::string& host) {
  auto& hosts = dialled_hosts::of_process();
  const std::scoped_lock lock{hosts.mutex};
  return hosts.all.contains(host);
}

}  // namespace troupe

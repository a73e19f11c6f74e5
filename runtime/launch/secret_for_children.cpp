#include <troupe/device/base/error.hpp>
#include <troupe/runtime/door/cluster_secret.hpp>
#include <troupe/runtime/launch/secret_for_children.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

secret_for_children::secret_for_children() : memory_(::memfd_create("troupe-secret", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  const auto text = cluster_secret::make_text();
  if (!memory_ || ::fchmod(memory_.get(), S_IRUSR) != 0 ||
      ::write(memory_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw resource_exhausted_error{fmt::format("no memory for the secret of the cluster: {}", std::strerror(errno))};
  ::fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
}

std::string secret_for_children::path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), memory_.get()); }

}  // namespace troupe

#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/memory_file.hpp>
#include <troupe/device/base/internal/write_all.hpp>
#include <troupe/runtime/launch/file_for_children.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <span>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

file_for_children::file_for_children(std::string_view content) : memory_(make_memory_file("troupe")) {
  if (!memory_ || ::fchmod(memory_.get(), S_IRUSR) != 0 || !write_all(memory_.get(), std::as_bytes(std::span{content})))
    throw resource_exhausted_error{
        fmt::format("no memory for what lets the processes of the cluster in: {}", std::strerror(errno))};
  ::fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
}

std::string file_for_children::path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), memory_.get()); }

}  // namespace troupe

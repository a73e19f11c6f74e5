#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/system_error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace troupe {

void throw_system_error(int reason, std::string_view what) {
  const auto message = [&](std::string_view hint) {
    return fmt::format("{}: {}; {}", what, std::strerror(reason), hint);
  };
  switch (reason) {
    case ENOENT:
    case ENOTDIR:
      throw not_found_error{message("check the path; directories are not created")};
    case EACCES:
    case EPERM:
    case EROFS:
      throw permission_denied_error{message("check the permissions or choose another directory")};
    case ENOSPC:
    case EDQUOT:
      throw resource_exhausted_error{message("free some space or choose another directory")};
    case EFBIG:
      throw resource_exhausted_error{message("the limit of file sizes is too small (ulimit -f)")};
    case EMFILE:
    case ENFILE:
      throw resource_exhausted_error{message("raise the limit of open files (ulimit -n)")};
    case ENOMEM:
      throw resource_exhausted_error{message("free some memory or raise the limit (ulimit -v)")};
    case EIO:
      throw data_loss_error{message("the storage device reports an error")};
    default:
      throw failed_precondition_error{message("check that the path names what it should")};
  }
}

}  // namespace troupe

// A folder for the temporary files of one run, which goes with this object.
#pragma once

#include <troupe/device/base/error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include <stdlib.h>

namespace troupe::tools {

class scratch_folder {
 public:
  /// Makes one with a name of its own, which begins with this one, in TMPDIR or /tmp.
  /// @throws unavailable_error that names the folder
  explicit scratch_folder(const std::string& name) {
    std::error_code problem;
    const auto where = std::filesystem::temp_directory_path(problem);
    if (problem) throw unavailable_error{not_made(where, problem.message())};
    auto made = (where / (name + "-XXXXXX")).string();
    if (::mkdtemp(made.data()) == nullptr) throw unavailable_error{not_made(where, std::strerror(errno))};
    path_ = made;
  }
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  static std::string not_made(const std::filesystem::path& where, const std::string& why) {
    const auto* const variable = ::getenv("TMPDIR");
    return fmt::format(
        "no folder for temporary files can be made in \"{}\": {}; expected a folder that this user can write to: set "
        "TMPDIR to one",
        where.empty() && variable != nullptr ? variable : where.string(), why);
  }

  std::filesystem::path path_;
};

}  // namespace troupe::tools

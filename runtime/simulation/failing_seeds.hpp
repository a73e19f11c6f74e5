// The file in which the seeds of failures are kept; its format is described in simulation_test.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

class failing_seeds {
 public:
  /// The one that the environment names, or the default.
  static failing_seeds from_environment();
  explicit failing_seeds(std::string path) : path_(std::move(path)) {}

  /// Of this test, in the order in which they were found. None, if there is no file. @throws invalid_argument_error for
  /// a line that is none.
  std::vector<std::uint64_t> of(const std::string& test) const;
  /// Does nothing if it is there already. @throws failed_precondition_error when the file can't be written.
  void add(const std::string& test, std::uint64_t seed) const;

 private:
  std::string path_;
};

}  // namespace troupe

// What the runs of a search have seen of each fault, together; see site_coverage.
#pragma once

#include <troupe/runtime/exploration.hpp>

#include <map>
#include <string>
#include <vector>

namespace troupe {

class coverage_sum {
 public:
  void add(const std::vector<fault_coverage>& of_run, bool is_good);
  /// What another process has written.
  void add_written(const std::string& text);
  std::string write() const;
  /// By their names.
  std::vector<site_coverage> sites() const;

 private:
  void add(const site_coverage& more);

  std::map<std::string, site_coverage> sites_;
};

}  // namespace troupe

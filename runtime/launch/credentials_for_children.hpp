// What lets the processes of a cluster that are all started here in to each other, and nobody else: made anew for each
// cluster, in memory only (file_for_children.hpp).
#pragma once

#include <troupe/runtime/door/certificate_authority.hpp>
#include <troupe/runtime/launch/file_for_children.hpp>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace troupe {

class secret_for_children {
 public:
  /// @throws resource_exhausted_error when no descriptor is left
  secret_for_children();

  /// For TROUPE_SECRET_FILE.
  std::string path() const { return file_.path(); }

 private:
  file_for_children file_;
};

/// Of an authority whose key is forgotten at once.
class certificates_for_children {
 public:
  /// One for each of these jobs, and one for a client; `hosts` are those of all tasks.
  /// @throws resource_exhausted_error when no descriptor is left; what certificate_authority throws
  certificates_for_children(const std::string& cluster, const std::set<std::string>& jobs,
                            const std::vector<std::string>& hosts);

  /// TROUPE_TLS_CERTIFICATE, TROUPE_TLS_KEY and TROUPE_TLS_CA of a process of this job.
  std::map<std::string, std::string> environment_of(const std::string& job) const;

 private:
  struct of_job {
    file_for_children certificate;
    file_for_children key;
  };

  certificates_for_children(const certificate_authority& by, const std::string& cluster, std::set<std::string> jobs,
                            const std::vector<std::string>& hosts);

  file_for_children authority_;
  std::map<std::string, of_job> of_jobs_;
};

}  // namespace troupe

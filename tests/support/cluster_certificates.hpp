// The certificates of a cluster's processes, one for each role.
#pragma once

#include "support/certificate_files.hpp"

#include <troupe/runtime/door/credentials.hpp>

#include <map>
#include <memory>
#include <string>

namespace troupe {

class cluster_certificates {
 public:
  explicit cluster_certificates(const std::string& cluster)
      : cluster_(cluster), authority_(certificate_authority::make(cluster)) {
    for (const auto* const job : {"chief", "worker", "ps", "client"})
      of_jobs_.emplace(job,
                       std::make_unique<certificate_files>(authority_, certified_role{cluster, job},
                                                           certificate_terms{.hosts = {"localhost", "127.0.0.1"}}));
  }

  const certificate_authority& authority() const { return authority_; }
  tls_files of(const std::string& job) const { return of_jobs_.at(job)->files(); }
  /// As a process of this job; that of a client is "client".
  credentials credentials_of(const std::string& job) const {
    return {.cluster = cluster_, .tls = std::make_shared<const tls_identity>(of(job))};
  }
  /// All are of another authority from now on, and believe no other.
  void change_to(const certificate_authority& next) {
    for (const auto& [job, files] : of_jobs_) {
      files->believe(next);
      files->change_to(next.issue({cluster_, job}));
    }
  }
  void put_into(std::map<std::string, std::string>& environment, const std::string& job) const {
    const auto files = of(job);
    environment[tls_certificate_variable] = files.certificate;
    environment[tls_key_variable] = files.key;
    environment[tls_authority_variable] = files.authority;
  }

 private:
  const std::string cluster_;
  const certificate_authority authority_;
  std::map<std::string, std::unique_ptr<certificate_files>> of_jobs_;
};

}  // namespace troupe

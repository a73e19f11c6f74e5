#include <troupe/runtime/door/certified_party.hpp>
#include <troupe/runtime/door/cluster_secret.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/launch/credentials_for_children.hpp>

#include <chrono>
#include <utility>

namespace troupe {

namespace {

/// Longer than any job runs: nobody is there to make others.
constexpr std::chrono::hours lifetime = std::chrono::days{3653};

}  // namespace

secret_for_children::secret_for_children() : file_(cluster_secret::make_text()) {}

certificates_for_children::certificates_for_children(const std::string& cluster, const std::set<std::string>& jobs,
                                                     const std::vector<std::string>& hosts)
    : certificates_for_children(certificate_authority::make(cluster, lifetime), cluster, jobs, hosts) {}

certificates_for_children::certificates_for_children(const certificate_authority& by, const std::string& cluster,
                                                     std::set<std::string> jobs, const std::vector<std::string>& hosts)
    : authority_(by.own().certificate) {
  jobs.insert(client_job);
  for (const auto& job : jobs) {
    const auto serves = job != client_job;
    const auto made =
        by.issue({cluster, job}, {.valid_for = lifetime, .hosts = serves ? hosts : std::vector<std::string>{}});
    of_jobs_.emplace(job, of_job{file_for_children{made.certificate}, file_for_children{made.key}});
  }
}

std::map<std::string, std::string> certificates_for_children::environment_of(const std::string& job) const {
  const auto& own = of_jobs_.at(job);
  return {{tls_certificate_variable, own.certificate.path()},
          {tls_key_variable, own.key.path()},
          {tls_authority_variable, authority_.path()}};
}

}  // namespace troupe

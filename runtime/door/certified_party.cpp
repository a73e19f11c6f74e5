#include <troupe/runtime/door/certified_party.hpp>

#include <fmt/format.h>

#include <string>

namespace troupe {

door_party introduced(door_party self, const credentials& with) {
  self.cluster = with.cluster;
  if (!self.task.job.empty() || !with.tls) return self;
  if (const auto role = with.tls->current()->own_role(); role.job != client_job) self.task.job = role.job;
  return self;
}

status check_certified(const std::optional<certified_role>& shown, const door_party& said) {
  if (!shown)
    return {status_code::permission_denied,
            "its certificate names no role; expected one with the name URI:troupe://CLUSTER/JOB"};
  if (!said.cluster.empty() && said.cluster != shown->cluster)
    return {status_code::permission_denied, fmt::format("it says that it is of the cluster \"{}\", and its certificate "
                                                        "that it is of \"{}\"",
                                                        said.cluster, shown->cluster)};
  const auto job = said.task.job.empty() ? std::string{client_job} : said.task.job;
  if (job == shown->job) return {};
  return {status_code::permission_denied,
          fmt::format("it comes as a {}, and its certificate is that of a {}", job, shown->job)};
}

status check_serves(const door_party& host) {
  if (!host.task.job.empty()) return {};
  return {status_code::permission_denied,
          "it serves with the certificate of a client; expected one of another role (troupe certs --role)"};
}

}  // namespace troupe

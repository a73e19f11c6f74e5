#include <troupe/runtime/door/certified_party.hpp>

#include <fmt/format.h>

#include <string>

namespace troupe {

peer_identity introduced(peer_identity self, const credentials& with) {
  self.cluster = with.cluster;
  if (!self.task.job.empty() || !with.tls) return self;
  if (const auto role = with.tls->current()->own_role(); role.job != client_job) self.task.job = role.job;
  return self;
}

status prove_by_certificate(peer_identity& peer, const std::optional<certified_role>& shown,
                            const certified_role& own) {
  if (!shown)
    return {status_code::permission_denied,
            "its certificate names no role; expected one with the name URI:troupe://CLUSTER/JOB"};
  if (shown->cluster != own.cluster)
    return {status_code::permission_denied,
            fmt::format("its certificate is of the cluster \"{}\", and that of the other side of \"{}\"",
                        shown->cluster, own.cluster)};
  if (!peer.cluster.empty() && peer.cluster != shown->cluster)
    return {status_code::permission_denied, fmt::format("it says that it is of the cluster \"{}\", and its certificate "
                                                        "that it is of \"{}\"",
                                                        peer.cluster, shown->cluster)};
  const auto job = peer.is_member() ? peer.task.job : std::string{client_job};
  if (job != shown->job)
    return {status_code::permission_denied,
            fmt::format("it comes as a {}, and its certificate is that of a {}", job, shown->job)};
  peer.proof = identity_proof::certificate;
  peer.certified_role = shown->job;
  return {};
}

status check_serves(const peer_identity& host) {
  if (host.is_member()) return {};
  return {status_code::permission_denied,
          "it serves with the certificate of a client; expected one of another role (troupe certs --role)"};
}

}  // namespace troupe

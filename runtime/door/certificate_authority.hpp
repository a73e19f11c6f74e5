// The private authority of a cluster, and the certificates that it gives to its processes: as files for
// `troupe certs`, as texts for tests.
//
// A certificate says of which cluster a process is and in which role, as a URI among its names:
//
//   troupe://CLUSTER/JOB       any task of this job: troupe://training/worker; "client" is no member
//
// and under which hosts' names and addresses it is reached, for clients of gRPC. Keys are of the curve P-256; whoever
// has that of the authority can make members of the cluster, and no process needs it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Who a certificate is for.
struct certified_role {
  std::string cluster;
  std::string job;

  bool operator==(const certified_role&) const = default;
};
/// "troupe://training/worker".
std::string to_uri(const certified_role& role);
/// Nothing: it says something else.
std::optional<certified_role> role_of_uri(std::string_view uri);

/// Both in PEM. Never part of a message for people.
struct certificate_and_key {
  std::string certificate;
  std::string key;
};

struct certificate_terms {
  std::chrono::hours valid_for = std::chrono::days{90};
  /// Clocks differ.
  std::chrono::hours valid_since = std::chrono::hours{1};
  /// Names and addresses.
  std::vector<std::string> hosts = {};
};

class certificate_authority {
 public:
  /// A new one, with a new key. @throws unavailable_error when OpenSSL makes none
  static certificate_authority make(const std::string& cluster, std::chrono::hours valid_for = std::chrono::days{3653});
  /// One that was made before. @throws invalid_argument_error for texts that are no authority's, or do not belong
  /// together
  static certificate_authority read(const certificate_and_key& known);

  certificate_authority(certificate_authority&&) noexcept;
  ~certificate_authority();

  const certificate_and_key& own() const { return own_; }
  /// That it was made for.
  std::string cluster() const;
  /// Of another role, or again: what was issued before stays valid for its time.
  /// @throws invalid_argument_error for names that a URI can't hold
  certificate_and_key issue(const certified_role& to, const certificate_terms& terms = {}) const;

 private:
  struct parts;
  certificate_authority(std::unique_ptr<parts> made, certificate_and_key own);

  std::unique_ptr<parts> parts_;
  certificate_and_key own_;
};

}  // namespace troupe

// A certificate with its key and its authority's, as a process has them on its disk.
#pragma once

#include "support/temporary_file.hpp"

#include <troupe/runtime/door/certificate_authority.hpp>
#include <troupe/runtime/door/certificate_validity.hpp>
#include <troupe/runtime/door/tls_session.hpp>

#include <chrono>
#include <fstream>

namespace troupe {

/// A time at which a certificate that has expired since was valid: a process that read it then shows it now.
inline std::chrono::sys_seconds yesterday() { return system_time() - std::chrono::days{1}; }

class certificate_files {
 public:
  certificate_files(const certificate_authority& by, const certified_role& of, const certificate_terms& terms = {})
      : certificate_files(by.issue(of, terms), by) {}
  explicit certificate_files(const certificate_and_key& own, const certificate_authority& believed)
      : certificate_(own.certificate), key_(own.key), authority_(believed.own().certificate) {}

  tls_files files() const { return {certificate_.path(), key_.path(), authority_.path()}; }

  /// As an operator does it, one file after the other.
  void change_to(const certificate_and_key& next) {
    change_certificate(next);
    change_key(next);
  }
  void change_certificate(const certificate_and_key& next) { std::ofstream{certificate_.path()} << next.certificate; }
  void change_key(const certificate_and_key& next) { std::ofstream{key_.path()} << next.key; }
  void believe(const certificate_authority& next) { std::ofstream{authority_.path()} << next.own().certificate; }

 private:
  temporary_file certificate_;
  temporary_file key_;
  temporary_file authority_;
};

}  // namespace troupe

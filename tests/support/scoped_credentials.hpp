// The credentials of the test's own process, for as long as a test needs them.
#pragma once

#include <troupe/runtime/door/credentials.hpp>

#include <memory>
#include <utility>

namespace troupe {

/// Whatever begins to listen or to connect during its lifetime uses these. Then those from before are back.
class scoped_credentials {
 public:
  explicit scoped_credentials(credentials own) : before_(credentials::of_process()) {
    credentials::set_for_process(std::move(own));
  }
  ~scoped_credentials() { credentials::set_for_process(*before_); }
  scoped_credentials(const scoped_credentials&) = delete;
  scoped_credentials& operator=(const scoped_credentials&) = delete;

 private:
  const std::shared_ptr<const credentials> before_;
};

}  // namespace troupe

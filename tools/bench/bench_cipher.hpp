// How fast one core encrypts: what `openssl speed -evp aes-128-gcm` measures, in the same run.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace troupe::tools {

/// AES-128-GCM over blocks as large as a record of TLS.
class bench_cipher {
 public:
  static constexpr std::size_t block_bytes = 16 * 1024;

  /// @throws unavailable_error when OpenSSL has no such cipher
  bench_cipher();
  ~bench_cipher();

  /// Encrypts about so many bytes. @throws unavailable_error when it fails
  void encrypt(std::size_t bytes);

 private:
  struct native;
  std::unique_ptr<native> native_;
  std::vector<unsigned char> plain_;
  std::vector<unsigned char> encrypted_;
};

}  // namespace troupe::tools

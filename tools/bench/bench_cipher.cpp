#include "bench_cipher.hpp"

#include <troupe/device/base/error.hpp>

#include <openssl/evp.h>

namespace troupe::tools {

namespace {

void require_cipher(int returned) {
  if (returned != 1) throw unavailable_error{"OpenSSL can't encrypt with AES-128-GCM"};
}

constexpr unsigned char key[16] = {1, 2, 3};
constexpr unsigned char nonce[12] = {4, 5, 6};

}  // namespace

struct bench_cipher::native {
  std::unique_ptr<EVP_CIPHER_CTX, decltype(&::EVP_CIPHER_CTX_free)> context{::EVP_CIPHER_CTX_new(),
                                                                            &::EVP_CIPHER_CTX_free};
};

bench_cipher::bench_cipher() : native_(std::make_unique<native>()), plain_(block_bytes), encrypted_(block_bytes) {
  require_cipher(::EVP_EncryptInit_ex(native_->context.get(), ::EVP_aes_128_gcm(), nullptr, key, nonce));
}

bench_cipher::~bench_cipher() = default;

void bench_cipher::encrypt(std::size_t bytes) {
  for (std::size_t done = 0; done < bytes; done += block_bytes) {
    auto size = 0;
    // A new nonce for each block, as TLS has it, so that each is a message of its own with a tag.
    auto* const context = native_->context.get();
    require_cipher(::EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, nonce));
    require_cipher(
        ::EVP_EncryptUpdate(context, encrypted_.data(), &size, plain_.data(), static_cast<int>(block_bytes)));
    require_cipher(::EVP_EncryptFinal_ex(context, encrypted_.data() + size, &size));
  }
}

}  // namespace troupe::tools

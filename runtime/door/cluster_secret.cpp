#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/door/cluster_secret.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

namespace {

void wipe(std::string& text) { OPENSSL_cleanse(text.data(), text.size()); }

descriptor open_to_read(const std::string& path) {
  // Not the terminal, and no waiting for somebody who writes a pipe.
  auto file = descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
  if (file) return file;
  if (errno == ENOENT || errno == ENOTDIR)
    throw not_found_error{fmt::format(
        "the file of the secret, \"{}\", does not exist; make one: (umask 077; openssl rand -hex 32 >FILE)", path)};
  throw permission_denied_error{
      fmt::format("the file of the secret, \"{}\", can't be read: {}", path, std::strerror(errno))};
}

/// As PostgreSQL and OpenSSH ask of their keys.
void check_owner(const struct stat& found, const char* what, const std::string& path) {
  if (!S_ISREG(found.st_mode))
    throw invalid_argument_error{fmt::format("the secret is to be read from \"{}\", which is no file", path)};
  constexpr mode_t of_others = S_IRWXG | S_IRWXO;
  constexpr mode_t of_others_if_root_has_it = S_IWGRP | S_IXGRP | S_IRWXO;
  const auto own = found.st_uid == ::geteuid() && (found.st_mode & of_others) == 0;
  const auto of_root = found.st_uid == 0 && (found.st_mode & of_others_if_root_has_it) == 0;
  if (own || of_root) return;
  throw permission_denied_error{
      fmt::format("the {}, \"{}\", belongs to user {} with the mode {:04o}, so others may know it; expected one of "
                  "this user (chmod 600), or of root that others can't read (chmod 640)",
                  what, path, found.st_uid, found.st_mode & ALLPERMS)};
}

std::string read_all(const descriptor& file, const std::string& path) {
  // With room for white space behind it.
  std::string text(cluster_secret::bytes_max + 16, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const auto count = ::read(file.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const auto reason = errno;
      wipe(text);
      throw permission_denied_error{
          fmt::format("the file of the secret, \"{}\", can't be read: {}", path, std::strerror(reason))};
    }
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return text;
}

}  // namespace

void check_owned_as_a_secret(const char* what, const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0)
    throw not_found_error{fmt::format("the {}, \"{}\", can't be read: {}", what, path, std::strerror(errno))};
  check_owner(found, what, path);
}

cluster_secret::cluster_secret(std::string text) : text_(std::move(text)) {
  if (text_.size() >= bytes_min && text_.size() <= bytes_max) return;
  const auto size = text_.size();
  wipe(text_);
  throw invalid_argument_error{fmt::format(
      "a secret of {} bytes; expected {} to {}, such as what openssl rand -hex 32 prints", size, bytes_min, bytes_max)};
}

cluster_secret::~cluster_secret() { wipe(text_); }

std::string cluster_secret::make_text() {
  std::array<unsigned char, 32> bits{};
  if (::RAND_bytes(bits.data(), static_cast<int>(bits.size())) != 1)
    throw unavailable_error{"the system gives no random numbers for a secret"};
  return fmt::format("{:02x}", fmt::join(bits, ""));
}

std::shared_ptr<const cluster_secret> cluster_secret::read(const std::string& path) {
  const auto file = open_to_read(path);
  struct stat found = {};
  ::fstat(file.get(), &found);
  check_owner(found, "file of the secret", path);
  auto text = read_all(file, path);
  text.resize(text.find_last_not_of(" \t\r\n") + 1);
  try {
    return std::make_shared<const cluster_secret>(std::move(text));
  } catch (const invalid_argument_error& wrong) {
    throw invalid_argument_error{fmt::format("the file of the secret, \"{}\": {}", path, wrong.message())};
  }
}

cluster_secret::proof cluster_secret::prove(std::string_view prover, std::string_view said) const {
  // The prover's name has an end, so that no part of it can be taken for what was said.
  const auto signed_text = fmt::format("{}\n{}", prover, said);
  proof result{};
  unsigned size = 0;
  const auto* const made = ::HMAC(::EVP_sha256(), text_.data(), static_cast<int>(text_.size()),
                                  reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size(),
                                  reinterpret_cast<unsigned char*>(result.data()), &size);
  if (made == nullptr || size != result.size()) throw internal_error{"OpenSSL makes no HMAC-SHA256"};
  return result;
}

bool cluster_secret::accepts(std::string_view shown, std::string_view prover, std::string_view said) const {
  const auto right = prove(prover, said);
  return shown.size() == right.size() && ::CRYPTO_memcmp(shown.data(), right.data(), right.size()) == 0;
}

}  // namespace troupe

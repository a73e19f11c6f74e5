// What only the processes of one cluster know. Whoever proves to have it may enter, and says it to nobody.
//
// A proof is an HMAC-SHA256 of what both sides have said, with fresh random numbers of both in it, so what was recorded
// proves nothing a second time. It tells who is there when a connection begins; what follows is neither encrypted nor
// authenticated, which takes TLS.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace troupe {

class cluster_secret {
 public:
  /// Fewer could be guessed.
  static constexpr std::size_t bytes_min = 16;
  static constexpr std::size_t bytes_max = 1024;
  using proof = std::array<std::byte, 32>;

  /// @throws invalid_argument_error for a text that is too short or too long; it never says the text
  explicit cluster_secret(std::string text);
  cluster_secret(const cluster_secret&) = delete;
  cluster_secret& operator=(const cluster_secret&) = delete;
  /// Leaves nothing in the memory.
  ~cluster_secret();

  /// A new text of 256 random bits, in hexadecimal digits.
  /// @throws unavailable_error when the system gives no random numbers
  static std::string make_text();

  /// What the file holds, without white space at its end. Others must not be able to read or write it: it belongs to
  /// this user with a mode of at most 0600, or to root with at most 0640 (a mounted secret of Kubernetes).
  /// @throws not_found_error, permission_denied_error, invalid_argument_error; each says what to do
  static std::shared_ptr<const cluster_secret> read(const std::string& path);

  /// Whose proof of what. Another `prover`, another proof: nobody can send one back.
  proof prove(std::string_view prover, std::string_view said) const;
  /// Takes as long for a wrong one as for the right one.
  bool accepts(std::string_view shown, std::string_view prover, std::string_view said) const;

 private:
  std::string text_;
};

/// Whether others can't read or write a file, by the rules of read(). `what` names it: "key of a certificate".
/// @throws as read()
void check_owned_as_a_secret(const char* what, const std::string& path);

}  // namespace troupe

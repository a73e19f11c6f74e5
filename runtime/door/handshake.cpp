#include <troupe/runtime/door/handshake.hpp>

#include <fmt/format.h>

#include <array>
#include <utility>

#include <openssl/rand.h>

namespace troupe {

namespace {

constexpr std::string_view visitor_name = "troupe door 2: visitor";
constexpr auto proof_bytes = std::tuple_size_v<cluster_secret::proof>;
constexpr std::string_view host_name = "troupe door 2: host";

door_hello make_hello(door_wish wanted, door_party who, bool asks_for_proof) {
  door_hello made{.wanted = wanted.service,
                  .topic = std::move(wanted.topic),
                  .who = std::move(who),
                  .asks_for_proof = asks_for_proof};
  if (::RAND_bytes(reinterpret_cast<unsigned char*>(made.number.data()), static_cast<int>(made.number.size())) != 1)
    throw unavailable_error{"the system gives no random numbers for a handshake"};
  return made;
}

const status no_secret_here{
    status_code::unauthenticated,
    "it asks for the secret of its cluster, and this process has none; give it by TROUPE_SECRET_FILE"};
const status no_secret_there{
    status_code::unauthenticated,
    "it does not ask for the secret of this cluster; it was started without TROUPE_SECRET_FILE, or is somebody else"};
const status wrong_proof_there{status_code::unauthenticated,
                               "it has not proved to have the secret of this cluster, and may be somebody else"};
const status wrong_proof_here{status_code::unauthenticated, "the secret is not the one of this cluster"};

}  // namespace

// --- both sides -----------------------------------------------------------------------------------------------------

handshake::handshake(door_hello own, shared_secret secret) : secret_(std::move(secret)), own_(std::move(own)) {}

std::size_t handshake::expected_bytes() const {
  if (over_) return 0;
  return awaits_content_ ? head_.content_bytes : words_head_bytes;
}

void handshake::hear(std::string_view bytes) {
  if (over_) return;
  if (!std::exchange(awaits_content_, false)) return hear_head(bytes);
  hear_content(bytes);
}

void handshake::hear_head(std::string_view bytes) {
  const auto head = read_head(bytes);
  if (!head) return end({status_code::invalid_argument, "it does not speak as a door of troupe"});
  head_ = *head;
  if (head_.version != door_version && head_.kind != word_kind::refusal)
    return refuse({status_code::failed_precondition,
                   fmt::format("one side speaks version {} of the words at a door, the other version {}; run the same "
                               "release of troupe on both",
                               head_.version, door_version)});
  if (head_.content_bytes == 0) return hear_content({});
  awaits_content_ = true;
}

void handshake::hear_content(std::string_view content) {
  if (head_.kind == word_kind::refusal) return end(read_refusal(content));
  take(head_.kind, content);
}

void handshake::refuse(const status& why) {
  say(word_kind::refusal, content_of_refusal(why));
  refused_ = true;
  end(why);
}

void handshake::end(status result) {
  over_ = true;
  result_ = std::move(result);
}

bool handshake::take_hello(std::string_view content) {
  auto heard = read_hello(content);
  if (heard)
    other_ = std::move(*heard);
  else
    refuse({status_code::invalid_argument, "a hello that no process of this version says"});
  return !over_;
}

void handshake::end_out_of_turn() { refuse({status_code::invalid_argument, "words of a door at the wrong time"}); }

std::string handshake::proof_of(std::string_view prover, std::string_view said) const {
  if (!secret_) return {};
  const auto made = secret_->prove(prover, said);
  return {reinterpret_cast<const char*>(made.data()), made.size()};
}

bool handshake::is_proof(std::string_view shown, std::string_view prover, std::string_view said) const {
  return secret_ == nullptr || secret_->accepts(shown, prover, said);
}

// --- the visitor ----------------------------------------------------------------------------------------------------

visitor_handshake::visitor_handshake(door_wish wanted, door_party self, std::shared_ptr<const cluster_secret> secret)
    : handshake(make_hello(std::move(wanted), std::move(self), secret != nullptr), secret), hellos_(content_of(own_)) {
  say(word_kind::hello, hellos_);
}

void visitor_handshake::take(word_kind kind, std::string_view content) {
  if (kind == word_kind::hello && !std::exchange(has_heard_hello_, true)) return hear_host(content);
  if (kind != word_kind::welcome || !has_heard_hello_) return end_out_of_turn();
  hear_welcome(content);
}

void visitor_handshake::hear_host(std::string_view content) {
  if (!take_hello(content)) return;
  if (other_.asks_for_proof && !own_.asks_for_proof) return end(no_secret_here);
  if (!other_.asks_for_proof && own_.asks_for_proof) return end(no_secret_there);
  hellos_ += content;
  say(word_kind::proof, proof_of(visitor_name, hellos_));
}

void visitor_handshake::hear_welcome(std::string_view content) {
  const auto proof = content.substr(0, secret_ ? proof_bytes : 0);
  const auto introduction = content.substr(proof.size());
  if (!is_proof(proof, host_name, hellos_ + std::string{introduction})) return end(wrong_proof_there);
  if (take_hello(introduction)) end({});
}

// --- the host -------------------------------------------------------------------------------------------------------

host_handshake::host_handshake(door_party self, std::shared_ptr<const cluster_secret> secret, admission admit)
    : handshake(make_hello(door_service::messages, {}, secret != nullptr), secret),
      admit_(std::move(admit)),
      introduction_(content_of({.who = std::move(self), .asks_for_proof = own_.asks_for_proof})) {}

void host_handshake::take(word_kind kind, std::string_view content) {
  if (kind == word_kind::hello && hellos_.empty()) return hear_visitor(content);
  if (kind == word_kind::proof && !hellos_.empty()) return hear_proof(content);
  end_out_of_turn();
}

void host_handshake::hear_visitor(std::string_view content) {
  if (!take_hello(content)) return;
  const auto own = content_of(own_);
  hellos_ = std::string{content} + own;
  say(word_kind::hello, own);
}

void host_handshake::hear_proof(std::string_view shown) {
  if (!is_proof(shown, visitor_name, hellos_)) return refuse(wrong_proof_here);
  if (const auto why = admit_(other_); !why.ok()) return refuse(why);
  say(word_kind::welcome, proof_of(host_name, hellos_ + introduction_) + introduction_);
  end({});
}

}  // namespace troupe

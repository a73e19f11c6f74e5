#include <troupe/runtime/door/handshake.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include <openssl/rand.h>

namespace troupe {

namespace {

constexpr std::string_view visitor_name = "troupe door 3: visitor";
constexpr auto proof_bytes = std::tuple_size_v<cluster_secret::proof>;
constexpr auto key_bytes = std::tuple_size_v<process_key>;
constexpr std::string_view host_name = "troupe door 3: host";

door_hello make_hello(door_wish wanted, peer_identity who, bool asks_for_proof) {
  door_hello made{.wanted = wanted.service,
                  .topic = std::move(wanted.topic),
                  .who = std::move(who),
                  .asks_for_proof = asks_for_proof};
  if (::RAND_bytes(reinterpret_cast<unsigned char*>(made.number.data()), static_cast<int>(made.number.size())) != 1)
    throw unavailable_error{"the system gives no random numbers for a handshake"};
  return made;
}

/// All that somebody hears who has proved nothing yet; the key for him depends on it.
peer_identity anonymous(const peer_identity& self) {
  peer_identity made;
  made.system = self.system;
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
const status another_process_there{status_code::unauthenticated, "it has named two processes as its own"};
const status wrong_proof_here{status_code::unauthenticated, "the secret is not the one of this cluster"};

}  // namespace

// --- both sides -----------------------------------------------------------------------------------------------------

handshake::handshake(door_hello own, process_id self, shared_secret secret, shared_process process)
    : self_(self), secret_(std::move(secret)), process_(std::move(process)), own_(std::move(own)) {}

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
  has_begun_ = true;
  if (head_.content_bytes == 0) return hear_content({});
  awaits_content_ = true;
}

void handshake::hear_content(std::string_view content) {
  if (head_.kind != word_kind::refusal) return take(head_.kind, content);
  // What an unauthenticated peer writes must not become a reason of this side's, which stands in the log.
  if (!may_hear_refusal()) return end({status_code::invalid_argument, "a refusal of who has to refuse nothing"});
  end(read_refusal(content));
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

std::string handshake::own_key() const {
  const auto key = process_->key_for(self_, other_.who.system.process);
  return {key.begin(), key.end()};
}

std::optional<handshake::shown_proof> handshake::take_proof(std::string_view& content) const {
  const auto proof = content.substr(0, secret_ ? proof_bytes : 0);
  content.remove_prefix(proof.size());
  const auto key = content.substr(0, key_bytes);
  content.remove_prefix(key.size());
  return key.size() == key_bytes ? std::optional{shown_proof{proof, key}} : std::nullopt;
}

void handshake::keep_proof(std::string_view key) {
  std::ranges::copy(key, other_.who.key.begin());
  other_.who.proof = secret_ ? identity_proof::secret : identity_proof::none;
}

// --- the visitor ----------------------------------------------------------------------------------------------------

visitor_handshake::visitor_handshake(door_wish wanted, peer_identity self, std::shared_ptr<const cluster_secret> secret,
                                     std::shared_ptr<const process_secret> process)
    : handshake(make_hello(std::move(wanted), self, secret != nullptr), self.system.process, secret,
                std::move(process)),
      hellos_(content_of(own_)) {
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
  const auto key = own_key();
  hellos_ += std::string{content} + key;
  say(word_kind::proof, proof_of(visitor_name, hellos_) + key);
}

void visitor_handshake::hear_welcome(std::string_view content) {
  auto introduction = content;
  const auto shown = take_proof(introduction);
  if (!shown || !is_proof(shown->proof, host_name, hellos_ + std::string{shown->key} + std::string{introduction}))
    return end(wrong_proof_there);
  const auto before = other_.who.system;
  if (!take_hello(introduction)) return;
  if (other_.who.system != before) return end(another_process_there);
  keep_proof(shown->key);
  end({});
}

// --- the host -------------------------------------------------------------------------------------------------------

host_handshake::host_handshake(peer_identity self, std::shared_ptr<const cluster_secret> secret, admission admit,
                               std::shared_ptr<const process_secret> process)
    : handshake(make_hello(door_service::messages, anonymous(self), secret != nullptr), self.system.process, secret,
                std::move(process)),
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

void host_handshake::hear_proof(std::string_view content) {
  const auto shown = take_proof(content);
  if (!shown || !content.empty())
    return refuse({status_code::invalid_argument, "a proof that no process of this version shows"});
  hellos_ += shown->key;
  if (!is_proof(shown->proof, visitor_name, hellos_)) return refuse(wrong_proof_here);
  keep_proof(shown->key);
  if (const auto why = admit_(other_); !why.ok()) return refuse(why);
  const auto key = own_key();
  say(word_kind::welcome, proof_of(host_name, hellos_ + key + introduction_) + key + introduction_);
  end({});
}

}  // namespace troupe

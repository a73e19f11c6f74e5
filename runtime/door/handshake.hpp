// The two sides of a door agree, without a socket and a clock: bytes in, bytes out. door_words.hpp says which.
//
//   visitor: hello said --> host's hello heard, proof and key said --> welcome, its proof and key heard --> agreed
//   host:    hello heard, own said --> proof and key heard, welcome and own ones said --> agreed
//
// and from each state to failed: by a refusal, words that are none, another version, no proof or a wrong one.
//
// D-1 Who has a secret agrees only with somebody who has proved to have it in this conversation; a visitor does so
// first, so that strangers hear no proof, and of the host no more than the random id of its process. D-2 A proof covers
// all that was said: who, what for, the keys, and a random number of each side. D-3 A host tells a visitor why it is
// refused, and nothing else. D-4 Not one byte is read that comes after the conversation.
#pragma once

#include <troupe/runtime/door/cluster_secret.hpp>
#include <troupe/runtime/door/door_words.hpp>
#include <troupe/runtime/door/process_secret.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

/// Not thread-safe.
class handshake {
 public:
  handshake(const handshake&) = delete;
  handshake& operator=(const handshake&) = delete;
  virtual ~handshake() = default;

  /// What is to be sent before more is read; once.
  std::string take_words() { return std::exchange(words_, {}); }
  /// How many bytes are to be read next; 0: it is over.
  std::size_t expected_bytes() const;
  /// Takes as many bytes as expected.
  void hear(std::string_view bytes);

  /// Whether a head of this version has come.
  bool has_begun() const { return has_begun_; }
  bool is_over() const { return over_; }
  /// Once it is over: ok if the two agree.
  const status& result() const { return result_; }
  /// Whether the other side was told why it failed.
  bool has_refused() const { return refused_; }
  /// What the other side has said of itself, and how it has proved that, once the two agree.
  const door_hello& other() const { return other_; }

 protected:
  using shared_secret = std::shared_ptr<const cluster_secret>;
  using shared_process = std::shared_ptr<const process_secret>;

  handshake(door_hello own, process_id self, shared_secret secret, shared_process process);

  /// A frame of this version that is no refusal.
  virtual void take(word_kind kind, std::string_view content) = 0;
  /// Whether the other side can refuse anything.
  virtual bool may_hear_refusal() const = 0;

  void say(word_kind kind, std::string_view content) { words_ += frame_of(kind, content); }
  void refuse(const status& why);
  void end(status result);
  /// False: it is none, and all is over.
  bool take_hello(std::string_view content);
  void end_out_of_turn();
  /// Of what was said: the visitor's hello, the host's, and who that is when it says so. Empty without a secret.
  std::string proof_of(std::string_view prover, std::string_view said) const;
  bool is_proof(std::string_view shown, std::string_view prover, std::string_view said) const;
  /// What this side shows to the other one.
  std::string own_key() const;
  /// What a proof frame begins with, taken off its content; false: it is too short.
  struct shown_proof {
    std::string_view proof;
    std::string_view key;
  };
  std::optional<shown_proof> take_proof(std::string_view& content) const;
  void keep_proof(std::string_view key);

  const process_id self_;
  const shared_secret secret_;
  const shared_process process_;
  /// What is said of this side, as a content.
  const door_hello own_;
  door_hello other_;

 private:
  void hear_head(std::string_view bytes);
  void hear_content(std::string_view content);

  word_head head_;
  bool has_begun_ = false;
  bool awaits_content_ = false;
  std::string words_;
  bool over_ = false;
  bool refused_ = false;
  status result_;
};

class visitor_handshake final : public handshake {
 public:
  /// @throws invalid_argument_error for an identity whose names are too long
  visitor_handshake(door_wish wanted, peer_identity self, std::shared_ptr<const cluster_secret> secret,
                    std::shared_ptr<const process_secret> process = process_secret::of_this_process());

 private:
  void take(word_kind kind, std::string_view content) override;
  bool may_hear_refusal() const override { return true; }
  void hear_host(std::string_view content);
  void hear_welcome(std::string_view content);

  std::string hellos_;
  bool has_heard_hello_ = false;
};

class host_handshake final : public handshake {
 public:
  /// Whether this visitor, who has proved what there is to prove, may enter; the visitor hears why not. Adds what its
  /// certificate shows.
  using admission = std::function<status(door_hello& visitor)>;

  /// @throws invalid_argument_error for an identity whose names are too long
  host_handshake(peer_identity self, std::shared_ptr<const cluster_secret> secret, admission admit,
                 std::shared_ptr<const process_secret> process = process_secret::of_this_process());

 private:
  void take(word_kind kind, std::string_view content) override;
  bool may_hear_refusal() const override { return false; }
  void hear_visitor(std::string_view content);
  void hear_proof(std::string_view content);

  const admission admit_;
  /// A hello with this side's name, for those who have proved what there is to prove.
  const std::string introduction_;
  std::string hellos_;
};

}  // namespace troupe

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/fault.hpp>
#include <troupe/device/collectives/together.hpp>
#include <troupe/runtime/replicas/rendezvous_communicator.hpp>

#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

namespace {

/// In front of what a rank brings. So long that elements behind it are aligned.
struct alignas(64) word_header {
  collective call;
  /// 0, or the code of the status because of which the rank brings nothing any more; its message follows.
  int farewell = 0;
};

std::string word_of(const word_header& header, std::string_view content) {
  std::string result{reinterpret_cast<const char*>(&header), sizeof(header)};
  result += content;
  return result;
}

std::string farewell_of(const status& why) {
  return word_of({.call = {}, .farewell = static_cast<int>(why.code())}, why.message());
}

/// Nothing for receipts, which are short.
std::optional<word_header> header_of(const std::string& word) {
  if (word.size() < sizeof(word_header)) return {};
  word_header result;
  std::memcpy(&result, word.data(), sizeof(result));
  return result;
}

/// The words of one collective, as they come. A farewell ends it at once, whoever is still missing.
struct exchange {
  explicit exchange(int size) : words(static_cast<std::size_t>(size)), missing(words.size()) {}

  void take(int rank, std::string word) {
    if (const auto header = header_of(word); header && header->farewell != 0)
      return fail({static_cast<status_code>(header->farewell), word.substr(sizeof(*header))});
    words[static_cast<std::size_t>(rank)] = std::move(word);
    if (--missing == 0) ended.set();
  }
  void fail(status how) {
    if (ended.is_set()) return;
    why = std::move(how);
    ended.set();
  }
  std::vector<int> missing_ranks() const {
    std::vector<int> result;
    for (std::size_t rank = 0; rank < words.size(); ++rank)
      if (!words[rank]) result.push_back(static_cast<int>(rank));
    return result;
  }

  std::vector<std::optional<std::string>> words;
  std::size_t missing;
  status why;
  completion ended;
};

/// Of one question to the rendezvous, which answers within less; then it is asked again, until the collective's limit.
constexpr auto question_limit = std::chrono::seconds{90};

struct group_place {
  rendezvous_actor host;
  std::uint64_t generation = 0;
  std::string name;

  std::string key(std::uint64_t round, int rank) const { return fmt::format("{}/{}/{}", name, round, rank); }
  /// Where ranks say that they have all words of a round.
  group_place of_receipts() const { return {host, generation, name + "/received"}; }
};

/// Waits for one rank's word, which may come later than the answer to a question.
void fetch(caf::event_based_actor* self, const group_place& at, std::uint64_t round, int rank,
           const std::shared_ptr<exchange>& into) {
  self->request(at.host, question_limit, fetch_atom_v, at.generation, at.key(round, rank))
      .then([into, rank](std::string& word) { into->take(rank, std::move(word)); },
            [=](caf::error& failed) {
              const auto why = status_of(failed);
              if (into->ended.is_set()) return;
              if (why.code() == status_code::deadline_exceeded) return fetch(self, at, round, rank, into);
              into->fail(why);
            });
}

/// Lives until all words are there, or none is waited for any more.
caf::behavior asker(caf::event_based_actor* self, const group_place& at, std::uint64_t round, int own_rank,
                    std::string word, const std::shared_ptr<exchange>& into) {
  self->monitor(at.host);
  self->set_down_handler([self, into](const caf::down_msg& down) {
    into->fail(status_of(down.reason, "the group's rendezvous").wrap("the chief is lost"));
    self->quit();
  });
  into->ended.on_set([self = caf::actor{self}] { caf::anon_send_exit(self, caf::exit_reason::user_shutdown); });
  self->request(at.host, question_limit, set_atom_v, at.generation, at.key(round, own_rank), std::move(word))
      .then([](caf::ok_atom) {}, [into](caf::error& failed) { into->fail(status_of(failed)); });
  for (std::size_t rank = 0; rank < into->words.size(); ++rank) fetch(self, at, round, static_cast<int>(rank), into);
  return {[](caf::ok_atom) {}};
}

class rendezvous_communicator final : public communicator {
 public:
  rendezvous_communicator(caf::actor_system& system, group_place at, int rank, int size)
      : communicator(rank, size), system_(system), at_(std::move(at)) {}
  ~rendezvous_communicator() override {
    end({status_code::unavailable, fmt::format("rank {} has left the group: its communicator was destroyed; make a new "
                                               "group of the ranks that are left",
                                               rank())});
  }

  void abort(status why) noexcept override { end(std::move(why)); }
  std::optional<status> broken() const override { return broken_; }
  clock::time_point now() const override { return current_time(); }

 protected:
  void execute(const collective& call, const std::byte* input, std::byte* output, clock::time_point deadline) override;

 private:
  static std::size_t input_bytes(const collective& call) {
    return static_cast<std::size_t>(call.count) * size_bytes(call.type);
  }
  /// The first reason counts; those who wait for this rank's next word get it.
  void end(status why) noexcept;
  [[noreturn]] void fail(status why) {
    end(std::move(why));
    throw_status(*broken_);
  }
  void wait(const collective& call, exchange& words, time_point deadline);
  void check(const collective& call, const exchange& words);
  void let_others_receive(time_point deadline);
  void say(const group_place& at, std::uint64_t round, std::string word) {
    caf::anon_send(at.host, set_atom_v, at.generation, at.key(round, rank()), std::move(word));
  }

  caf::actor_system& system_;
  group_place at_;
  std::uint64_t round_ = 0;
  std::shared_ptr<exchange> open_;
  std::optional<status> broken_;
};

void rendezvous_communicator::execute(const collective& call, const std::byte* input, std::byte* output,
                                      clock::time_point deadline) {
  if (broken_) throw_status(*broken_);
  const auto words = open_ = std::make_shared<exchange>(size());
  const auto content = std::string_view{reinterpret_cast<const char*>(input), input_bytes(call)};
  system_.spawn(asker, at_, round_++, rank(), word_of({.call = call}, content), words);
  wait(call, *words, deadline);
  open_ = nullptr;
  check(call, *words);
  let_others_receive(deadline);
  std::vector<const std::byte*> inputs;
  for (const auto& each : words->words)
    inputs.push_back(reinterpret_cast<const std::byte*>(each->data()) + sizeof(word_header));
  perform_for_rank(call, rank(), inputs, output);
}

void rendezvous_communicator::wait(const collective& call, exchange& words, time_point deadline) {
  auto in_time = false;
  try {
    in_time = words.ended.wait_until(deadline);
  } catch (const cancelled_error& cancelled) {
    end(cancelled.get_status().wrap(fmt::format("rank {} was cancelled", rank())));
    throw;
  }
  if (broken_) throw_status(*broken_);
  if (!words.why.ok()) fail(words.why);
  const auto missing = words.missing_ranks();
  if (!in_time)
    fail({status_code::deadline_exceeded,
          fmt::format("rank {} has waited for {} until its limit, but rank{} {} did not come", rank(), to_string(call),
                      missing.size() > 1 ? "s" : "", fmt::join(missing, ", "))});
}

void rendezvous_communicator::check(const collective& call, const exchange& words) {
  for (int other = 0; other < size(); ++other) {
    const auto& word = *words.words[static_cast<std::size_t>(other)];
    const auto header = header_of(word);
    if (!header) fail({status_code::internal, "a word of a collective is too short"});
    if (header->call != call)
      fail({status_code::failed_precondition,
            fmt::format("the ranks called different collectives: rank {} {}, but rank {} {}; all ranks of a group must "
                        "make the same calls in the same order",
                        rank(), to_string(call), other, to_string(header->call))});
    if (word.size() != sizeof(*header) + input_bytes(call)) fail({status_code::internal, "a word has another size"});
  }
}

// The rendezvous goes with the chief's process, rank 0, which may end after its last collective: it stays until nobody
// needs the words any more. Who is lost meanwhile is no failure of this collective.
void rendezvous_communicator::let_others_receive(time_point deadline) {
  const auto receipts = at_.of_receipts();
  if (rank() != 0) return say(receipts, round_, std::string{});
  const auto words = std::make_shared<exchange>(size());
  system_.spawn(asker, receipts, round_, rank(), std::string{}, words);
  const std::shared_ptr<void> over{nullptr, [&](auto) {
                                     words->fail({status_code::cancelled, "the receipts are not waited for any more"});
                                   }};
  words->ended.wait_until(deadline);
  if (words->missing != 0) return;
  // The rendezvous need not keep what they brought.
  for (int each = 0; each < size(); ++each)
    caf::anon_send(at_.host, set_atom_v, at_.generation, at_.key(round_ - 1, each), std::string{});
}

void rendezvous_communicator::end(status why) noexcept {
  if (broken_) return;
  broken_ = why.ok() ? status{status_code::aborted, "the group was aborted without a reason"} : std::move(why);
  const auto open = std::exchange(open_, nullptr);
  // Of the round that is open the asker may not have said its word yet, and now never will.
  for (auto round = open ? round_ - 1 : round_; round <= round_; ++round) say(at_, round, farewell_of(*broken_));
  say(at_.of_receipts(), round_, std::string{});  // rank 0 need not wait for it
  if (open) open->fail(*broken_);
}

}  // namespace

std::shared_ptr<communicator> make_rendezvous_communicator(caf::actor_system& system, const rendezvous_actor& host,
                                                           std::uint64_t generation, std::string name, int rank,
                                                           int size) {
  return std::make_shared<rendezvous_communicator>(system, group_place{host, generation, std::move(name)}, rank, size);
}

}  // namespace troupe

// Whether what clients saw of a shared object can be explained by one order of their operations.
//
//   history<register_input<int>, register_output<int>> seen;
//   const auto read = seen.invoke("client 1", "x", register_read{});
//   ...
//   seen.ok(read, {.value = 3});                    // it has answered; fail: it has not happened; unknown: perhaps
//   if (const auto wrong = find_violation<register_model<int>>(seen)) world.require(false, *wrong);
//
// A history is linearizable when each operation can be given a moment between its begin and its end such that the
// object, doing them one after the other in that order, gives the answers that were seen (Herlihy and Wing 1990). An
// operation of which nobody knows whether it has happened may have a moment any time later, or none. Keys are objects
// of their own: each is looked at alone.
//
// The search is Wing and Gong's (1993), with Lowe's memory of what has been tried (2017). It takes time that grows with
// the operations that run at the same time, not with those that came before: 10,000 operations by 10 clients on 10 keys
// take a fraction of a second. Operations that are unknown run for ever, so that many of them on one key take long.
//
// A model says what the object does, one key of it:
//
//   struct model {
//     using input = ...; using output = ...;
//     using state = ...;                         // with operator== and std::hash, from state{} on
//     /// Does it, if it could have given this answer; no answer is known of an operation that is unknown.
//     static bool step(state& of, const input& what, const output* answer);
//     static std::string describe(const input& what, const output* answer);
//   };
#pragma once

#include <troupe/device/base/error.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

/// What clients did, in the order in which they said so. One thread.
template <class Input, class Output>
class history {
 public:
  /// Which operation.
  using ticket = std::size_t;

  struct operation {
    std::string client;
    std::string key;
    Input what;
    /// Nothing yet, or nobody knows.
    std::optional<Output> answer;
    std::uint64_t begin = 0;
    /// 0: it has not ended.
    std::uint64_t end = 0;
    bool happened_not = false;
  };

  ticket invoke(std::string client, std::string key, Input what) {
    operations_.push_back({std::move(client), std::move(key), std::move(what), std::nullopt, ++last_moment_, 0, false});
    return operations_.size() - 1;
  }
  void ok(ticket which, Output answer) {
    auto& ended = open(which);
    ended.answer = std::move(answer);
    ended.end = ++last_moment_;
  }
  /// It is known not to have happened.
  void fail(ticket which) { open(which).happened_not = true; }
  /// It may have happened, or may yet; so may those of which nothing was said.
  void unknown(ticket which) { open(which); }

  const std::vector<operation>& operations() const { return operations_; }

 private:
  operation& open(ticket which) {
    auto& result = operations_.at(which);
    if (result.end != 0 || result.happened_not)
      throw failed_precondition_error{fmt::format("operation {} of the history has ended already", which)};
    return result;
  }

  std::vector<operation> operations_;
  std::uint64_t last_moment_ = 0;
};

namespace detail {

/// The search for an order of the operations of one key.
template <class Model>
class linearizer {
 public:
  using operation = typename history<typename Model::input, typename Model::output>::operation;

  explicit linearizer(std::vector<const operation*> all) : all_(std::move(all)), done_((all_.size() + 63) / 64) {
    std::map<std::uint64_t, entry> moments;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      moments[all_[i]->begin] = {i, true};
      if (all_[i]->end == 0) continue;
      moments[all_[i]->end] = {i, false};
      ++open_ends_;
    }
    entries_.push_back({});
    for (const auto& [_, each] : moments) entries_.push_back(each);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      entries_[i].next = i + 1 == entries_.size() ? none : i + 1;
      entries_[i].previous = i == 0 ? none : i - 1;
    }
    ends_.assign(all_.size(), none);
    for (std::size_t i = 1; i < entries_.size(); ++i)
      if (!entries_[i].is_begin) ends_[entries_[i].which] = i;
  }

  /// Null: there is such an order. Else an operation that fits into none of those that explain the most others.
  const operation* run() {
    for (auto at = entries_[0].next; open_ends_ != 0;) {
      if (at != none && entries_[at].is_begin) {
        at = take(at) ? entries_[0].next : entries_[at].next;
        continue;
      }
      if (at != none && chosen_.size() >= most_chosen_) {
        most_chosen_ = chosen_.size();
        stuck_ = all_[entries_[at].which];
      }
      if (chosen_.empty()) return stuck_;
      at = put_back();
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct entry {
    std::size_t which = 0;
    bool is_begin = false;
    std::size_t next = none;
    std::size_t previous = none;
  };
  struct choice {
    std::size_t entry;
    typename Model::state before;
  };

  bool take(std::size_t at) {
    const auto which = entries_[at].which;
    const auto& what = *all_[which];
    auto after = state_;
    if (!Model::step(after, what.what, what.answer ? &*what.answer : nullptr)) return false;
    flip(which);
    if (!is_new(after)) {
      flip(which);
      return false;
    }
    chosen_.push_back({at, std::exchange(state_, std::move(after))});
    take_out(at);
    if (ends_[which] == none) return true;
    take_out(ends_[which]);
    --open_ends_;
    return true;
  }

  /// Where to go on.
  std::size_t put_back() {
    auto last = std::move(chosen_.back());
    chosen_.pop_back();
    const auto which = entries_[last.entry].which;
    state_ = std::move(last.before);
    flip(which);
    if (ends_[which] != none) {
      put_in(ends_[which]);
      ++open_ends_;
    }
    put_in(last.entry);
    return entries_[last.entry].next;
  }

  void take_out(std::size_t at) {
    auto& gone = entries_[at];
    entries_[gone.previous].next = gone.next;
    if (gone.next != none) entries_[gone.next].previous = gone.previous;
  }
  void put_in(std::size_t at) {
    auto& back = entries_[at];
    entries_[back.previous].next = at;
    if (back.next != none) entries_[back.next].previous = at;
  }

  void flip(std::size_t which) { done_[which / 64] ^= std::uint64_t{1} << which % 64; }

  bool is_new(const typename Model::state& state) {
    auto hash = std::hash<typename Model::state>{}(state);
    for (const auto word : done_) hash = hash * 0x9e37'79b9'7f4a'7c15 + word + (hash >> 29);
    auto [begin, end] = tried_.equal_range(hash);
    for (; begin != end; ++begin)
      if (begin->second.first == done_ && begin->second.second == state) return false;
    tried_.emplace(hash, std::pair{done_, state});
    return true;
  }

  std::vector<const operation*> all_;
  /// Begins and ends in their order, without those that have been chosen; the first is none of them.
  std::vector<entry> entries_;
  std::vector<std::size_t> ends_;
  std::size_t open_ends_ = 0;
  typename Model::state state_{};
  std::vector<choice> chosen_;
  std::vector<std::uint64_t> done_;
  std::unordered_multimap<std::size_t, std::pair<std::vector<std::uint64_t>, typename Model::state>> tried_;
  std::size_t most_chosen_ = 0;
  const operation* stuck_ = nullptr;
};

}  // namespace detail

/// Nothing: the history is linearizable. Else the key, and an operation that no order explains.
template <class Model>
std::optional<std::string> find_violation(const history<typename Model::input, typename Model::output>& seen) {
  using operation = typename history<typename Model::input, typename Model::output>::operation;
  std::map<std::string, std::vector<const operation*>> keys;
  for (const auto& each : seen.operations())
    if (!each.happened_not) keys[each.key].push_back(&each);
  for (auto& [key, operations] : keys) {
    const auto count = operations.size();
    if (const auto* const stuck = detail::linearizer<Model>{std::move(operations)}.run())
      return fmt::format("no order of the {} operations on \"{}\" explains that {} got {}", count, key, stuck->client,
                         Model::describe(stuck->what, stuck->answer ? &*stuck->answer : nullptr));
  }
  return std::nullopt;
}

// --- registers ------------------------------------------------------------------------------------------------------

struct register_read {};
template <class T>
struct register_write {
  T value;
};
/// Writes if the value is `from`.
template <class T>
struct register_exchange {
  T from;
  T to;
};
template <class T>
using register_input = std::variant<register_read, register_write<T>, register_exchange<T>>;

/// What a register answers: a read its value, a write anything, an exchange whether it was done.
template <class T>
struct register_output {
  T value{};
  bool done = true;
};

/// A register that holds `T{}` at first.
template <class T>
struct register_model {
  using input = register_input<T>;
  using output = register_output<T>;
  using state = T;

  static bool step(state& of, const input& what, const output* answer) {
    if (std::holds_alternative<register_read>(what)) return answer == nullptr || answer->value == of;
    if (const auto* const write = std::get_if<register_write<T>>(&what)) {
      of = write->value;
      return true;
    }
    const auto& exchange = std::get<register_exchange<T>>(what);
    const auto fits = of == exchange.from;
    if (answer != nullptr && answer->done != fits) return false;
    if (fits) of = exchange.to;
    return true;
  }

  static std::string describe(const input& what, const output* answer) {
    if (std::holds_alternative<register_read>(what)) return fmt::format("{} from a read", answer->value);
    if (const auto* const write = std::get_if<register_write<T>>(&what))
      return fmt::format("an answer to a write of {}", write->value);
    const auto& exchange = std::get<register_exchange<T>>(what);
    return fmt::format("{} from an exchange of {} for {}", answer->done ? "yes" : "no", exchange.from, exchange.to);
  }
};

}  // namespace troupe

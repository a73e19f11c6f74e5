#include <troupe/actors/rpc/internal/rpc_call_table.hpp>
#include <troupe/actors/rpc/internal/rpc_reply_batches.hpp>

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe::rpc {

namespace {

const status not_wanted{status_code::cancelled, "the call was cancelled by its caller"};

bool any_has_attachments(const std::vector<datum>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), has_attachments);
}

}  // namespace

// --- starting -------------------------------------------------------------------------------------------------------

/// Under the lock.
status call_table::admit() const {
  if (!closed_.ok()) return closed_;
  const auto calls_max = calls_max_ != 0 ? std::min(calls_max_, options_.bounds.calls_per_client_max)
                                         : options_.bounds.calls_per_client_max;
  if (open_.size() >= calls_max)
    return {status_code::resource_exhausted,
            fmt::format("{} calls of this client are open, its limit (calls_per_client_max)", open_.size())};
  return {};
}

void call_table::start(const call_ptr& started) {
  std::size_t size_bytes = 0;
  try {
    size_bytes = encoded_size_bytes(started->arguments);
  } catch (...) {
    started->finish(
        status_of(std::current_exception()).wrap(fmt::format("the arguments of {} can't travel", started->method)));
    return;
  }
  auto size_bytes_max = options_.bounds.request_bytes_max;
  executor_actor direct;
  std::uint64_t session = 0;
  auto wake = false;
  status problem;
  {
    const lock held{mutex_};
    if (request_bytes_max_ != 0) size_bytes_max = std::min(size_bytes_max, request_bytes_max_);
    problem =
        size_bytes > size_bytes_max
            ? status{status_code::resource_exhausted,
                     fmt::format("the arguments of {} take {} bytes, but at most {} are allowed (request_bytes_max)",
                                 started->method, size_bytes, size_bytes_max)}
            : admit();
    if (problem.ok()) {
      started->id = ++last_id_;
      auto& added = open_[started->id];
      added = {started, deadlines_.emplace(started->deadline, started->id), false};
      if (started->deadline < wakes_at_) {
        wakes_at_ = started->deadline;  // until `expire` says better: the actor is told once
        wake = true;
      }
      if (!executors_.empty() && open_.size() <= direct_calls_max) {
        added.sent = true;
        direct = executor_of(started->id);
        session = session_;
      } else {
        unsent_.push_back(started);
        if (!executors_.empty() && !std::exchange(flush_asked_, true)) wake = true;
      }
    }
  }
  if (!problem.ok()) {
    started->finish(std::move(problem));
    return;
  }
  if (direct) send(direct, session, {started});
  if (wake) options_.wake();
}

call_order call_table::order_of(call& what) const {
  // A zero would be over at once; the deadline here ends the call.
  const auto left =
      what.deadline == never ? std::int64_t{-1} : std::max<std::int64_t>((what.deadline - options_.now()).count(), 1);
  return {what.id, what.method, what.signature, left, std::move(what.arguments)};
}

/// Calls with tensors beside the message go alone, so that the server can answer them when those don't arrive.
void call_table::send(const executor_actor& to, std::uint64_t session, std::vector<call_ptr> calls) {
  const auto alone = calls.size() == 1 ? calls.front()->id : 0;
  call_orders orders;
  orders.calls.reserve(calls.size());
  for (const auto& each : calls) orders.calls.push_back(order_of(*each));
  wire<call_orders> message{std::move(orders)};
  if (is_encoded_between(options_.inbox.node(), to.node())) {
    try {
      message.seal();
    } catch (...) {
      const auto why = status_of(std::current_exception()).wrap("the call could not be sent");
      for (const auto& each : calls) fail(each->id, why);
      return;
    }
  }
  caf::send_as(options_.inbox, to, run_atom_v, session, std::uint64_t{alone}, std::move(message));
}

void call_table::flush() {
  struct batch {
    executor_actor to;
    std::vector<call_ptr> calls;
  };
  std::vector<batch> batches;
  std::uint64_t session = 0;
  {
    const lock held{mutex_};
    flush_asked_ = false;
    if (executors_.empty()) return;
    session = session_;
    std::vector<batch> filling(executors_.size());
    std::vector<std::size_t> size_bytes(executors_.size(), 0);
    for (auto& each : std::exchange(unsent_, {})) {
      const auto found = open_.find(each->id);
      if (found == open_.end()) continue;  // over before it was sent
      found->second.sent = true;
      const auto to = each->id % executors_.size();
      if (any_has_attachments(each->arguments)) {
        batches.push_back({executors_[to], {std::move(each)}});
        continue;
      }
      size_bytes[to] += encoded_size_bytes(each->arguments);
      filling[to].calls.push_back(std::move(each));
      if (filling[to].calls.size() < batch_calls_max && size_bytes[to] < batch_bytes_max) continue;
      batches.push_back({executors_[to], std::exchange(filling[to].calls, {})});
      size_bytes[to] = 0;
    }
    for (std::size_t i = 0; i < filling.size(); ++i)
      if (!filling[i].calls.empty()) batches.push_back({executors_[i], std::move(filling[i].calls)});
  }
  for (auto& each : batches) send(each.to, session, std::move(each.calls));
}

// --- ending ---------------------------------------------------------------------------------------------------------

/// Under the lock. Null if it has ended.
call_ptr call_table::take_out(std::uint64_t id) {
  const auto found = open_.find(id);
  if (found == open_.end()) return nullptr;
  auto what = std::move(found->second.what);
  deadlines_.erase(found->second.deadline);
  open_.erase(found);
  return what;
}

template <class Predicate>
std::vector<call_table::ending> call_table::take_out_if(Predicate predicate, const status& why) {
  std::vector<ending> ended;
  for (auto next = open_.begin(); next != open_.end();) {
    if (!predicate(next->second)) {
      ++next;
      continue;
    }
    deadlines_.erase(next->second.deadline);
    ended.push_back({std::move(next->second.what), why, {}});
    next = open_.erase(next);
  }
  return ended;
}

/// Outside the lock: whoever waits may call again at once.
void call_table::end(std::vector<ending> ended) {
  for (auto& each : ended) each.what->finish(std::move(each.why), std::move(each.result));
}

void call_table::take_replies(call_replies replies) {
  std::vector<ending> ended;
  ended.reserve(replies.replies.size());
  auto wake = false;
  {
    const lock held{mutex_};
    const auto is_over = std::ranges::any_of(replies.replies, &call_reply::session_over);
    if (is_over && replies.session == session_) wake = std::exchange(session_over_, session_) != session_;
    for (auto& reply : replies.replies)
      if (auto what = take_out(reply.id))
        ended.push_back({std::move(what), std::move(reply.ended), std::move(reply.result)});
  }
  end(std::move(ended));
  if (wake) options_.wake();
}

std::uint64_t call_table::session_over() const {
  const lock held{mutex_};
  return session_over_;
}

void call_table::fail(std::uint64_t id, const status& why) {
  call_ptr what;
  {
    const lock held{mutex_};
    what = take_out(id);
  }
  if (what) what->finish(why);
}

void call_table::cancel(const call_ptr& unwanted) {
  executor_actor told;
  std::uint64_t session = 0;
  {
    const lock held{mutex_};
    const auto found = open_.find(unwanted->id);
    if (found == open_.end() || found->second.what != unwanted) return;
    if (found->second.sent && !executors_.empty()) told = executor_of(unwanted->id);
    session = session_;
    take_out(unwanted->id);
  }
  unwanted->finish(not_wanted);
  if (told) caf::send_as(options_.inbox, told, cancel_atom_v, wire<call_cancellations>{{session, {unwanted->id}}});
}

void call_table::close(const status& why) {
  std::vector<ending> ended;
  {
    const lock held{mutex_};
    if (!closed_.ok()) return;
    closed_ = why;
    executors_.clear();
    unsent_.clear();
    ended = take_out_if([](const entry&) { return true; }, why);
  }
  end(std::move(ended));
}

// --- the client's actor ---------------------------------------------------------------------------------------------

void call_table::connected(std::vector<executor_actor> executors, const server_welcome& terms) {
  {
    const lock held{mutex_};
    if (!closed_.ok()) return;
    executors_ = std::move(executors);
    session_ = terms.session;
    calls_max_ = terms.calls_per_client_max;
    request_bytes_max_ = terms.request_bytes_max;
    tensors_where_dialled_ = terms.tensors_where_dialled;
  }
  flush();
}

void call_table::disconnected(const status& why) {
  std::vector<ending> ended;
  {
    const lock held{mutex_};
    executors_.clear();
    ended = take_out_if([](const entry& each) { return each.sent; }, why);
  }
  end(std::move(ended));
}

void call_table::refuse(const status& why) {
  std::vector<ending> ended;
  {
    const lock held{mutex_};
    unsent_.clear();
    ended = take_out_if([](const entry&) { return true; }, why);
  }
  end(std::move(ended));
}

time_point call_table::expire(time_point now) {
  std::vector<ending> ended;
  auto next = never;
  {
    const lock held{mutex_};
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      const auto sent = open_.at(deadlines_.begin()->second).sent;
      auto what = take_out(deadlines_.begin()->second);
      auto text = fmt::format("{} on {} did not end before its deadline{}", what->method, options_.server,
                              sent ? "" : ": the server could not be reached");
      ended.push_back({std::move(what), {status_code::deadline_exceeded, std::move(text)}, {}});
    }
    // Answered calls leave numbers behind that wait for no one.
    if (executors_.empty()) std::erase_if(unsent_, [this](const call_ptr& each) { return !open_.contains(each->id); });
    if (!deadlines_.empty()) next = deadlines_.begin()->first;
    wakes_at_ = next;
  }
  end(std::move(ended));
  return next;
}

std::size_t call_table::size() const {
  const lock held{mutex_};
  return open_.size();
}

}  // namespace troupe::rpc

#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/rpc/internal/rpc_executor.hpp>

#include <caf/actor_cast.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe::rpc {

namespace {

const status client_gone{status_code::cancelled, "the client that made this call is gone"};
const status session_over{status_code::unavailable, "the server has ended this client's session"};
const status client_cancelled{status_code::cancelled, "the client does not want the result any more"};

status too_late(const call_order& order) {
  return {status_code::deadline_exceeded, fmt::format("{} did not end within the {} ms that the call had left",
                                                      order.method, in_milliseconds(duration{order.limit_ns}))};
}

/// Data may be such that nobody can encode them; what comes over another layer than "caf" was not encoded before.
template <class T>
status check_size(const std::string& method, const char* what, const T& data, const char* limit,
                  std::size_t size_bytes_max) {
  std::size_t size_bytes = 0;
  try {
    size_bytes = encoded_size_bytes(data);
  } catch (...) {
    return status_of(std::current_exception()).wrap(fmt::format("the {} of {} can't travel", what, method));
  }
  if (size_bytes <= size_bytes_max) return {};
  return {status_code::resource_exhausted, fmt::format("the {} of {} take {} bytes, but at most {} are allowed ({})",
                                                       what, method, size_bytes, size_bytes_max, limit)};
}

}  // namespace

executor_actor::behavior_type executor_state::make_behavior(executor_options options) {
  tolerate_stray_messages(self_);
  options_ = std::move(options);
  arriving_.emplace(self_, options_.inbox);
  fibers_ = std::make_unique<fiber_host>(clock_, options_.fibers);
  fibers_->at_turn_end([this] {
    start_some();
    replies_.send_when_idle();
    if (open_.empty()) lookout_.idle();
  });
  return {
      [this](run_atom, std::uint64_t session, std::uint64_t alone, wire<call_orders>& message) {
        const auto sink = caf::actor_cast<reply_sink>(self_->current_sender());
        if (!sink) return;
        arriving_->take({session, alone}, message,
                        [this, session, alone, sink](wire<call_orders>& arrived, const status& problem) {
                          const fiber_host::turn scope{*fibers_};
                          if (problem.ok()) return take_orders(session, sink, arrived.take());
                          replies_.add(session, sink, {alone, problem.wrap("the call did not arrive whole"), {}});
                        });
      },
      [this](cancel_atom, wire<call_cancellations>& message) {
        const fiber_host::turn scope{*fibers_};
        if (!message.open().ok()) return;
        for (const auto id : message->calls) cancel({message->session, id}, client_cancelled);
      },
      [this](run_atom, const incoming_call_ptr& arrived) {
        const fiber_host::turn scope{*fibers_};
        take(arrived);
      },
      [this](cancel_atom, std::uint64_t client, std::uint64_t id) {
        const fiber_host::turn scope{*fibers_};
        cancel({client, id}, client_cancelled);
      },
      [this](dismiss_atom, std::uint64_t client) {
        const fiber_host::turn scope{*fibers_};
        cancel_client(client, client_gone);
        replies_.forget(client);
      },
      [this](retire_atom, wire<status>& why) {
        const fiber_host::turn scope{*fibers_};
        stop(why.open().ok() ? *why : status{status_code::unavailable, "the server stops"});
        replies_.send_all();
        return caf::ok_atom_v;
      },
  };
}

executor_state::~executor_state() {
  // Running methods are cancelled here. Calls of other layers answer themselves when they are dropped; clients
  // elsewhere see this actor go.
  fibers_.reset();
  open_.clear();
}

// --- taking calls ---------------------------------------------------------------------------------------------------

void executor_state::take_orders(std::uint64_t session, const reply_sink& sink, call_orders orders) {
  const auto role = options_.admitted->role_in(session);
  if (!role) {
    for (const auto& order : orders.calls) replies_.add(session, sink, {order.id, session_over, {}, true});
    return;
  }
  for (auto& order : orders.calls) {
    auto arrived = std::make_shared<incoming_call>();
    arrived->client = session;
    arrived->role = *role;
    arrived->reply = [this, session, sink, id = order.id](const status& ended, datum result) {
      // In the end of this actor nothing leaves any more.
      if (fibers_) replies_.add(session, sink, {id, ended, std::move(result)});
    };
    arrived->order = std::move(order);
    take(std::move(arrived));
  }
}

status executor_state::admit(const incoming_call& arrived) {
  const auto& order = arrived.order;
  if (!stopped_.ok()) return stopped_;
  if (order.limit_ns == 0) return too_late(order);
  if (numbers_.contains({arrived.client, order.id}))
    return {status_code::invalid_argument, fmt::format("the client has an open call with the id {} already", order.id)};
  if (auto problem = options_.methods->check_caller(order.method, arrived.role); !problem.ok()) return problem;
  auto problem =
      check_size(order.method, "arguments", order.arguments, "request_bytes_max", options_.bounds.request_bytes_max);
  return problem.ok() ? options_.admitted->enter(arrived.client) : problem;
}

void executor_state::take(incoming_call_ptr arrived) {
  if (const auto problem = admit(*arrived); !problem.ok()) return arrived->answer(problem, {});
  lookout_.work_came();
  const auto number = ++last_number_;
  numbers_.emplace(call_key{arrived->client, arrived->order.id}, number);
  open_call entry{.what = std::move(arrived)};
  if (const auto limit = entry.what->order.limit_ns; limit > 0)
    entry.deadline = clock_.after(duration{limit}, [this, number] {
      const fiber_host::turn scope{*fibers_};
      const auto found = open_.find(number);
      if (found != open_.end()) end_early(number, too_late(found->second.what->order));
    });
  open_.emplace(number, std::move(entry));
  waiting_.push_back(number);
}

// --- running --------------------------------------------------------------------------------------------------------

void executor_state::start_some() {
  if (yielding_) return;
  const auto budget_ends = clock_.now() + options_.turn_budget;
  while (!waiting_.empty() && running_ < options_.bounds.running_calls_max) {
    const auto number = waiting_.front();
    waiting_.pop_front();
    run(number);
    if (clock_.now() < budget_ends) continue;
    // Hear what the mailbox holds, then go on.
    yielding_ = true;
    make_notifier(self_, [this] {
      yielding_ = false;
      const fiber_host::turn scope{*fibers_};
    })();
    return;
  }
}

void executor_state::run(std::uint64_t number) {
  const auto found = open_.find(number);
  if (found == open_.end()) {  // over before its turn
    --passed_over_;
    return;
  }
  found->second.running = true;
  ++running_;
  const auto deadline = found->second.what->order.limit_ns > 0 ? found->second.deadline.when : never;
  auto work = [this, number, what = found->second.what] {
    status ended;
    datum result;
    try {
      const auto& order = what->order;
      fiber_host::name_running(order.method.c_str());
      result = call_method(*options_.methods, order.method, order.signature, order.arguments);
      ended = check_size(order.method, "results", result, "reply_bytes_max", options_.bounds.reply_bytes_max);
      if (!ended.ok()) result = {};
    } catch (...) {
      ended = status_of(std::current_exception());
    }
    --running_;
    end(number, ended, std::move(result));
  };
  fibers_->run(number, std::move(work), deadline);
}

// --- ends -----------------------------------------------------------------------------------------------------------

void executor_state::cancel(const call_key& which, const status& why) {
  arriving_->end(which, why);
  const auto found = numbers_.find(which);
  if (found != numbers_.end()) end_early(found->second, why);
}

void executor_state::cancel_client(std::uint64_t client, const status& why) {
  arriving_->end_from(
      {client, 0}, [client](const call_key& which) { return which.first == client; }, why);
  std::vector<std::uint64_t> calls;
  for (auto next = numbers_.lower_bound({client, 0}); next != numbers_.end() && next->first.first == client; ++next)
    calls.push_back(next->second);
  for (const auto number : calls) end_early(number, why);
}

/// Answers a call that still waits or runs, and cancels what runs for it.
void executor_state::end_early(std::uint64_t number, const status& why) {
  const auto found = open_.find(number);
  if (found == open_.end()) return;
  const auto running = found->second.running;
  end(number, why, {});
  running ? fibers_->cancel(number, why) : pass_over();
}

/// A call that waited has ended. A client that goes may leave thousands of them, so none is searched for: when they are
/// most of those that wait, all of them go at once.
void executor_state::pass_over() {
  if (++passed_over_ <= waiting_.size() / 2) return;
  std::erase_if(waiting_, [this](std::uint64_t number) { return !open_.contains(number); });
  passed_over_ = 0;
}

void executor_state::end(std::uint64_t number, const status& ended, datum result) {
  const auto found = open_.find(number);
  if (found == open_.end()) return;  // answered before, by its deadline or a cancellation
  const auto what = std::move(found->second.what);
  clock_.cancel(found->second.deadline);
  open_.erase(found);
  numbers_.erase({what->client, what->order.id});
  options_.admitted->leave(what->client);
  what->answer(ended, std::move(result));
}

void executor_state::stop(const status& why) {
  stopped_ = why;
  arriving_->end_all(why);
  std::vector<std::uint64_t> calls;
  for (const auto& [number, ignored] : open_) calls.push_back(number);
  for (const auto number : calls) end_early(number, why);
}

executor_actor::behavior_type executor(executor_state::pointer self, executor_options options) {
  return self->state.make_behavior(std::move(options));
}

}  // namespace troupe::rpc

// Remote calls between clients and a server that are lost, cut off, silent, closed and back again; one course for each
// seed, see explorer_seeds.hpp. Which of all messages comes next is drawn, too.
//
// What must hold: a call ends exactly once, never after its deadline, and soon when the server that ran it is lost
// (RPC-1); its method runs at most once, and exactly once for a call that succeeds; whatever has ended leaves nothing
// behind, so a method that only a cancellation ends is cancelled (RPC-2, RPC-3).
#include "explorer_seeds.hpp"
#include "rpc_world.hpp"

#include <troupe/actors/fibers/sleep.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(explorer_calls_suite)

namespace {

/// Seeds that once failed.
const std::vector<std::uint64_t> known_seeds{};
constexpr std::uint64_t seeds_default = 500;

constexpr duration limit_max = 10s;
/// Of a method that only a cancellation ends, since its call has all the time.
constexpr auto forever_milliseconds = 3'600'000;

/// A client, and what lies between it and the server.
struct guest {
  explicit guest(virtual_system& in) : world(in) {
    at->hung_up = [this] { end_stand_in(); };
    client.emplace(world, at);
  }
  ~guest() {
    at->hung_up = nullptr;
    cut();
    client.reset();
  }
  guest(const guest&) = delete;

  /// The server sees its end of the link closed.
  void end_stand_in() { caf::anon_send_exit(with->stand_in, caf::exit_reason::kill); }
  /// The connection breaks, for both sides.
  void cut() {
    at->door = nullptr;
    if (!between) return;
    caf::anon_send_exit(between, caf::exit_reason::kill);
    end_stand_in();
    between = nullptr;
    with->unanswered.clear();
    *with = {};
  }
  void connect(const door_actor& server) {
    cut();
    with = std::make_shared<interference>();
    with->behind = server;
    at->door = between = world.spawn(door_in_between, with);
  }

  virtual_system& world;
  std::shared_ptr<place> at = std::make_shared<place>();
  std::shared_ptr<interference> with = std::make_shared<interference>();
  door_actor between;
  std::optional<simulated_client> client;
};

struct made_call {
  int number = 0;
  call_ptr what;
  /// Of the client, at that time.
  std::size_t guest = 0;
  int ends = 0;
  time_point ended_at{};
  bool may_be_cancelled = false;
  /// When its client lost the server that was running it; `never` if it did not.
  time_point lost_at = never;
};

class course : public drawing {
 public:
  explicit course(std::uint64_t seed) : drawing(seed) { world_.draw_order(seed); }
  void go();

 private:
  void act();
  void serve();
  void lose_server();
  void cut(std::size_t which);
  void end_what_runs_forever();
  void call_something();
  void cancel_something();
  void cancel(made_call& chosen);
  void disturb(std::size_t which);
  void close_client(std::size_t which);
  void heal();
  void check();
  void check(const made_call& one);
  int work(int number, int milliseconds);
  std::vector<method> methods();

  /// First: what is open when a course fails ends with the rest.
  std::map<int, int> executions_;
  std::set<int> inside_;
  std::vector<std::unique_ptr<made_call>> calls_;
  virtual_system world_;
  std::optional<simulated_server> server_;
  std::vector<std::unique_ptr<guest>> guests_;
};

int course::work(int number, int milliseconds) {
  const struct presence {
    std::set<int>& inside;
    int number;
    ~presence() { inside.erase(number); }
  } here{inside_, number};
  inside_.insert(number);
  ++executions_[number];
  sleep_for(milliseconds * 1ms);
  if (number % 7 == 0) throw out_of_range_error{"on purpose"};
  return number;
}

std::vector<method> course::methods() {
  return {make_method("work", [this](std::int32_t number, std::int32_t takes) { return work(number, takes); })};
}

// --- what happens ---------------------------------------------------------------------------------------------------

void course::serve() {
  if (server_) return;
  // Few places, so that calls wait in the server, too.
  server_.emplace(world_, limits{.running_calls_max = static_cast<std::size_t>(1 + draw(4))}, 1 + draw(2), methods());
  for (const auto& each : guests_) each->connect(server_->front);
}

void course::lose_server() {
  if (!server_) return;
  for (std::size_t i = 0; i < guests_.size(); ++i) cut(i);
  server_->begin_death();
  world_.run_some(draw(20));
  server_.reset();
}

void course::cut(std::size_t which) {
  for (const auto& each : calls_)
    if (each->guest == which && !each->what->ended() && inside_.contains(each->number))
      each->lost_at = std::min(each->lost_at, world_.now());
  guests_[which]->cut();
}

void course::call_something() {
  const auto number = static_cast<int>(calls_.size()) + 1;
  const auto which = static_cast<std::size_t>(draw(static_cast<int>(guests_.size())));
  auto& one = *calls_.emplace_back(std::make_unique<made_call>());
  const auto runs_forever = draw(16) == 0;
  const auto limit = runs_forever ? 2h : draw(4) == 0 ? draw(50) * 1ms : limit_max;
  const auto takes = runs_forever ? forever_milliseconds : draw(4) == 0 ? 0 : draw(300);
  one.number = number;
  one.guest = which;
  one.what = guests_[which]->client->begin("work", {number, takes}, limit).what;
  one.what->on_end([this, &one] {
    ++one.ends;
    one.ended_at = world_.now();
  });
}

void course::disturb(std::size_t which) {
  auto& chosen = *guests_[which];
  switch (draw(7)) {
    case 0:
    case 1:
      return cut(which);
    case 2:
    case 3:
      if (server_) chosen.connect(server_->front);
      return;
    case 4:
      chosen.with->server_silent = !chosen.with->server_silent;
      return;
    case 5:
      chosen.with->client_silent = !chosen.with->client_silent;
      return;
    case 6:
      chosen.with->refusal = chosen.with->refusal.ok() ? status{status_code::resource_exhausted, "not you"} : status{};
      return;
  }
}

void course::close_client(std::size_t which) {
  for (const auto& each : calls_)
    if (each->guest == which) each->may_be_cancelled = true;
  guests_[which]->client->to_server->close();
  world_.run_some(draw(20));
  guests_[which] = std::make_unique<guest>(world_);
  if (server_) guests_[which]->connect(server_->front);
}

void course::cancel_something() {
  if (!calls_.empty()) cancel(*one_of(calls_));
}

void course::cancel(made_call& chosen) {
  if (chosen.what->ended()) return;
  chosen.may_be_cancelled = true;
  guests_[chosen.guest]->client->to_server->cancel(chosen.what);
}

void course::end_what_runs_forever() {
  for (const auto& each : calls_)
    if (each->what->deadline > world_.now() + limit_max) cancel(*each);
  world_.advance(5s);
}

void course::act() {
  switch (draw(16)) {
    case 0:
      return draw(2) == 0 ? lose_server() : serve();
    case 1:
      return serve();
    case 2:
      return disturb(static_cast<std::size_t>(draw(static_cast<int>(guests_.size()))));
    case 3:
      return cancel_something();
    case 4:
      if (draw(4) == 0) close_client(static_cast<std::size_t>(draw(static_cast<int>(guests_.size()))));
      return;
    case 5:
    case 6:
      return world_.advance(draw(50) * 1ms);
    case 7:
      return world_.advance(draw(2000) * 1ms);
    case 8:
    case 9:
      return world_.run_some(draw(30));
    default:
      return call_something();
  }
}

void course::heal() {
  lose_server();
  serve();
  world_.advance(limit_max + 5s);
}

void course::go() {
  guests_.reserve(3);
  for (auto i = draw(3); i >= 0; --i) guests_.push_back(std::make_unique<guest>(world_));
  serve();
  const auto actions = 30 + draw(100);
  for (int i = 0; i < actions; ++i) act();
  draw(2) == 0 ? heal() : world_.advance(limit_max + 5s);
  end_what_runs_forever();
  check();
}

// --- what must hold -------------------------------------------------------------------------------------------------

void course::check() {
  for (const auto& each : calls_) check(*each);
  require(inside_.empty(), fmt::format("RPC-3: {} methods run although their calls have ended", inside_.size()));
  if (!server_) return;
  require(server_->admitted->calls() == 0, fmt::format("RPC-3: the server keeps {} calls", server_->admitted->calls()));
  require(server_->admitted->clients() == 0, "RPC-3: the server keeps clients without calls");
  for (const auto& each : guests_) {
    each->connect(server_->front);
    world_.advance(2s);
    const auto sum = each->client->start("add", {20, 22}, 1s);
    require(sum.what->ended() && sum.what->end_status().ok(), "a client can't call its server when all is well");
  }
}

void course::check(const made_call& one) {
  const auto name = fmt::format("call {}", one.number);
  require(one.ends == 1, fmt::format("RPC-1: {} ended {} times", name, one.ends));
  if (one.ends == 0) return;
  require(one.ended_at <= one.what->deadline, "RPC-1: " + name + " ended after its deadline");
  // Its answer may have been under way.
  require(one.lost_at == never || one.ended_at <= one.lost_at + silence_noticed_max,
          "RPC-1: " + name + " went on after the server that ran it was lost");
  const auto executions = executions_.contains(one.number) ? executions_.at(one.number) : 0;
  require(executions <= 1, fmt::format("{} was executed {} times", name, executions));
  const auto& how = one.what->end_status();
  const auto code = how.code();
  const auto text = how.render();
  if (how.ok())
    require(executions == 1 && one.what->result().as<std::int32_t>() == one.number, name + " got a foreign answer");
  else
    require(code == status_code::unavailable || code == status_code::deadline_exceeded ||
                (code == status_code::cancelled && one.may_be_cancelled) ||
                text.find("on purpose") != std::string::npos || text.find("not you") != std::string::npos,
            name + ": " + text);
}

}  // namespace

BOOST_AUTO_TEST_CASE(calls_end_once_and_methods_run_at_most_once_whatever_happens_to_both_sides) {  // RPC-1 to RPC-3
  explore_courses<course>(known_seeds, seeds_default);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc

// The shard's half of V-1 (variable_client.hpp): one order, and nothing twice, whatever arrives late or again.
#include "support/held_transport.hpp"
#include "support/virtual_system.hpp"

#include <troupe/actors/fibers/requests.hpp>
#include <troupe/actors/variables/parameter_server.hpp>
#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/emulated/emulated_faults.hpp>
#include <troupe/device/kernels/elementwise.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <malloc.h>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(shard_suite)

namespace {

constexpr std::uint64_t incarnation = 7;
constexpr std::uint64_t number = 3;

struct asker {
  explicit asker(caf::event_based_actor* self) : clock(self), open(self, clock) {}
  timers clock;
  requests open;
};

/// One answer, as soon as it is there.
struct answered {
  bool there = false;
  status problem;
  status refused;
  std::vector<operation_outcome> outcomes;
};

float first_of(const tensor& content) { return content.values<float>().front(); }

struct server_room : virtual_system {
  explicit server_room(const parameter_server_options& options = {}, const std::string& device = "CPU:0") {
    const shard_order order{
        .shard = number, .name = "w", .initial = large_tensor(0.0f).copy_to(device), .device = device};
    const auto place = std::make_shared<served_device>(device, options.device_limit, options.late_device_limit);
    handle = spawn(shard, order, incarnation, gate, place, options);
    auto beside = order;
    beside.name = "v";
    neighbour = spawn(shard, beside, incarnation, gate, place, options);
    run();
  }

  std::shared_ptr<answered> operate(client_id client, link_number link, operation_batch batch) {
    if (batch.shard == 0) batch.shard = number;
    if (batch.incarnation == 0) batch.incarnation = incarnation;
    return operate(client, link, from_elsewhere(std::move(batch)));
  }
  std::shared_ptr<answered> operate(client_id client, link_number link, wire<operation_batch> message) {
    auto result = std::make_shared<answered>();
    actor.act([&] {
      actor->open.ask(
          handle, 1h, "an operation",
          [result](wire<outcome_batch>& answer) {
            result->there = true;
            result->refused = answer->refused;
            result->outcomes = answer->outcomes;
          },
          [result](const status& why) {
            result->there = true;
            result->problem = why;
          },
          operate_atom_v, client_id{client}, link_number{link}, message);
    });
    return result;
  }
  float content() {
    const auto read = operate(99, 1, {.operations = {{.sequence = 1, .kind = operation_kind::read}}});
    BOOST_REQUIRE(read->there);
    return first_of(read->outcomes.at(0).content);
  }
  void complete(std::size_t fetch) {
    transport->complete(fetch);
    run();
  }

  installed_transport transport;
  std::shared_ptr<session_gate> gate = std::make_shared<session_gate>();
  shard_actor handle;
  /// On the same device.
  shard_actor neighbour;
  simulated_actor<asker> actor{*this};
};

struct forgetful_room : server_room {
  forgetful_room() : server_room({.remembered_changes_max = 2}) {}
};

struct narrow_room : server_room {
  narrow_room() : server_room({.clients_max = 8, .forgotten_clients_max = 8, .remembered_changes_of_all_max = 200}) {}
};

/// Its shard is on an emulated GPU.
struct device_room : server_room {
  device_room() : server_room({.device_limit = 1s}, device()) {}
  ~device_room() { repair_emulated_gpu(device()); }

  static std::string device() {
    [[maybe_unused]] static const auto once = [] {
      emulate_gpus(1);
      return true;
    }();
    return "GPU:0";
  }
};

/// Its operand is the size of the variable, so it arrives late.
shard_operation late(std::uint64_t sequence, operation_kind kind, float content) {
  return {.sequence = sequence, .kind = kind, .operand = large_tensor(content)};
}

tensor doubled(const tensor& content) {
  auto result = content;
  scale_in_place(result, 2);
  return result;
}

/// Doubles the variable, without an operand.
shard_operation twice(std::uint64_t sequence) {
  return {.sequence = sequence,
          .kind = operation_kind::call,
          .function = function_registry::instance().id_of(registered<doubled, deferred<tensor>>()),
          .arguments = value::of(std::tuple{deferred<tensor>{0}})};
}

operation_batch batch_of(shard_operation operation, std::uint64_t first_open = 1) {
  operation_batch result{.first_open = first_open, .operations = {}};
  result.operations.push_back(std::move(operation));
  return result;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(an_operation_does_not_overtake_an_earlier_one_of_its_client, server_room) {
  const auto first = operate(1, 1, batch_of(late(1, operation_kind::assign, 3.0f)));
  const auto second = operate(1, 1, batch_of(twice(2)));
  BOOST_TEST(!second->there);
  complete(0);
  BOOST_TEST(first->there);
  BOOST_TEST_REQUIRE(second->there);
  BOOST_TEST(second->outcomes.at(0).ended.render() == "ok");
  BOOST_TEST(content() == 6.0f);
}

BOOST_FIXTURE_TEST_CASE(clients_do_not_wait_for_each_other, server_room) {
  const auto slow = operate(1, 1, batch_of(late(1, operation_kind::assign_add, 3.0f)));
  const auto other = operate(2, 1, batch_of(twice(1)));
  BOOST_TEST(other->there);
  BOOST_TEST(!slow->there);
  complete(0);
  BOOST_TEST(content() == 3.0f);
}

BOOST_FIXTURE_TEST_CASE(what_is_sent_again_over_a_new_link_ends_what_still_waits_on_the_old_one, server_room) {
  const auto original = operate(1, 1, batch_of(late(1, operation_kind::assign_add, 3.0f)));
  const auto again = operate(1, 2, batch_of(late(1, operation_kind::assign_add, 3.0f)));
  BOOST_TEST(original->there);
  BOOST_TEST((original->problem.code() == status_code::aborted));
  complete(1);
  BOOST_TEST(again->there);
  complete(0);
  BOOST_TEST(content() == 3.0f);
}

BOOST_FIXTURE_TEST_CASE(what_comes_over_an_old_link_is_refused_without_a_fetch, server_room) {
  operate(1, 2, batch_of(twice(1)));
  const auto old = operate(1, 1, batch_of(late(2, operation_kind::assign, 3.0f)));
  BOOST_TEST((old->problem.code() == status_code::aborted));
  BOOST_TEST(transport->fetches.empty());
}

BOOST_FIXTURE_TEST_CASE(changes_of_every_kind_that_come_again_are_answered_and_not_applied_again, server_room) {
  const auto row_of = [](operation_kind kind, float content) {
    return shard_operation{.kind = kind, .operand = tensor::full(shape{1}, content), .rows = {0}};
  };
  auto gradient = late(0, operation_kind::apply_gradient, 2.0f);
  gradient.rule = optimizer::with_momentum(0.5);
  struct expectation {
    shard_operation change;
    float after;
  };
  const std::vector<expectation> expected{{late(0, operation_kind::assign, 1.0f), 1.0f},
                                          {late(0, operation_kind::assign_add, 3.0f), 4.0f},
                                          {late(0, operation_kind::assign_subtract, 1.0f), 3.0f},
                                          {row_of(operation_kind::scatter_update, 2.0f), 2.0f},
                                          {row_of(operation_kind::scatter_add, 5.0f), 7.0f},
                                          {row_of(operation_kind::scatter_subtract, 1.0f), 6.0f},
                                          {gradient, 5.0f},
                                          {twice(0), 10.0f}};
  std::size_t fetched = 0;
  link_number link = 0;
  std::uint64_t sequence = 0;
  for (auto [change, after] : expected) {
    change.sequence = ++sequence;
    for (auto times = 0; times < 3; ++times) {
      const auto again = operate(1, ++link, batch_of(change, sequence));
      while (fetched < transport->fetches.size()) complete(fetched++);
      BOOST_TEST_REQUIRE(again->there);
      BOOST_TEST(again->outcomes.at(0).ended.ok(), again->outcomes.at(0).ended.render());
    }
    BOOST_TEST(content() == after, "kind " << static_cast<int>(change.kind) << " leaves " << content());
  }
}

BOOST_FIXTURE_TEST_CASE(a_batch_that_does_not_arrive_breaks_its_link_so_that_nothing_overtakes_it, server_room) {
  const auto lost = operate(1, 1, batch_of(late(1, operation_kind::assign, 3.0f)));
  const auto next = operate(1, 1, batch_of(twice(2)));
  transport->fail(0, {status_code::unavailable, "the sender is gone"});
  run();
  BOOST_TEST((lost->problem.code() == status_code::unavailable));
  BOOST_TEST((next->problem.code() == status_code::aborted));
  operate(1, 2, batch_of(late(1, operation_kind::assign, 3.0f)));
  operate(1, 2, batch_of(twice(2)));
  complete(1);
  BOOST_TEST(content() == 6.0f);
}

BOOST_FIXTURE_TEST_CASE(a_change_that_cannot_be_remembered_is_refused_until_earlier_ones_are_acknowledged,
                        forgetful_room) {
  operate(1, 1, batch_of(late(1, operation_kind::assign, 1.0f)));
  complete(0);
  operate(1, 1, batch_of(twice(2)));
  const auto refused = operate(1, 1, batch_of(twice(3)));
  BOOST_TEST((refused->outcomes.at(0).ended.code() == status_code::resource_exhausted));
  BOOST_TEST(content() == 2.0f);
  operate(1, 1, batch_of(twice(4), 4));
  BOOST_TEST(content() == 4.0f);
}

BOOST_FIXTURE_TEST_CASE(a_client_that_acknowledges_each_change_may_make_any_number, forgetful_room) {
  operate(1, 1, batch_of(late(1, operation_kind::assign, 1.0f)));
  complete(0);
  for (std::uint64_t sequence = 2; sequence <= 6; ++sequence) operate(1, 1, batch_of(twice(sequence), sequence));
  BOOST_TEST(content() == 32.0f);
}

// M-2
BOOST_FIXTURE_TEST_CASE(what_is_meant_for_another_shard_or_another_life_is_refused, server_room) {
  for (const auto& [other_life, other_shard] :
       {std::pair{incarnation + 1, number}, std::pair{incarnation, number + 1}}) {
    auto batch = batch_of(twice(1));
    batch.incarnation = other_life;
    batch.shard = other_shard;
    batch.operations.front().kind = operation_kind::read;
    const auto refused = operate(1, 1, batch);
    BOOST_TEST_REQUIRE(refused->there);
    BOOST_TEST((refused->problem.code() == status_code::aborted));
  }
}

BOOST_FIXTURE_TEST_CASE(a_batch_that_can_never_be_read_is_answered_with_the_reason_and_breaks_no_link, server_room) {
  const auto before = value_bytes_max();
  auto batch = batch_of(late(1, operation_kind::assign, 3.0f));
  batch.shard = number;
  batch.incarnation = incarnation;
  const auto sent = frame_of(wire<operation_batch>{std::move(batch)});
  set_value_bytes_max(1000);
  const auto refused = operate(1, 1, arrival_of<operation_batch>(sent));
  set_value_bytes_max(before);
  BOOST_TEST_REQUIRE(refused->there);
  BOOST_TEST(refused->problem.ok());
  BOOST_TEST(refused->outcomes.empty());
  BOOST_TEST((refused->refused.code() == status_code::resource_exhausted));
  operate(1, 1, batch_of(late(2, operation_kind::assign, 4.0f)));
  complete(0);
  BOOST_TEST(content() == 4.0f);
}

BOOST_FIXTURE_TEST_CASE(the_end_of_a_shard_answers_what_waits, server_room) {
  const auto waiting = operate(1, 1, batch_of(late(1, operation_kind::assign, 3.0f)));
  caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
  run();
  BOOST_TEST_REQUIRE(waiting->there);
  BOOST_TEST((waiting->problem.code() == status_code::cancelled));
}

// C-3
BOOST_FIXTURE_TEST_CASE(what_a_worker_sends_whose_session_is_over_is_refused_and_that_of_others_is_not, server_room) {
  constexpr session_id ended = 20;
  constexpr session_id goes_on = 21;
  const auto changed = [&](client_id client, std::uint64_t sequence, session_id session) {
    auto batch = batch_of({.sequence = sequence, .kind = operation_kind::assign, .operand = large_tensor(1.0f)});
    batch.session = session;
    const auto answer = operate(client, 1, std::move(batch));
    complete(transport->fetches.size() - 1);
    BOOST_TEST_REQUIRE(answer->there);
    BOOST_TEST(answer->problem.ok(), "the link goes on");
    return answer->refused.code();
  };
  BOOST_TEST((changed(1, 1, ended) == status_code::ok));
  BOOST_TEST((changed(2, 1, goes_on) == status_code::ok));
  gate->take({.horizon = 22, .live = {goes_on}});
  BOOST_TEST((changed(1, 2, ended) == status_code::cancelled));
  BOOST_TEST((changed(2, 2, goes_on) == status_code::ok));
  // The worker was taken in again; the chief's own program has no session.
  BOOST_TEST((changed(1, 3, 22) == status_code::ok));
  BOOST_TEST((changed(3, 1, 0) == status_code::ok));
}

BOOST_FIXTURE_TEST_CASE(what_was_under_way_when_its_session_ended_is_not_applied, server_room) {
  auto batch = batch_of(late(1, operation_kind::assign, 3.0f));
  batch.session = 20;
  const auto answer = operate(1, 1, std::move(batch));
  gate->take({.horizon = 21, .live = {}});
  complete(0);
  BOOST_TEST_REQUIRE(answer->there);
  BOOST_TEST((answer->refused.code() == status_code::cancelled));
  BOOST_TEST(content() == 0.0f);
}

// Workers come and go for as long as a server lives, each time as a client that it has not seen.
BOOST_FIXTURE_TEST_CASE(workers_that_were_given_up_leave_nothing_behind, server_room) {
  constexpr session_id count = 2'000;
  const auto come_and_go = [this](session_id session) {
    auto batch = batch_of({.sequence = 1, .kind = operation_kind::read});
    batch.session = session;
    BOOST_TEST((operate(session, 1, std::move(batch))->refused.code() == status_code::ok));
    gate->take({.horizon = session + 1, .live = {}});
  };
  come_and_go(1);
  const auto before = ::mallinfo2().uordblks;
  for (session_id session = 2; session <= count; ++session) come_and_go(session);
  const auto after = ::mallinfo2().uordblks;
  BOOST_TEST(after <= before + 50 * count, after - std::min(before, after) << " bytes of " << count << " workers");
}

// Whoever makes up clients that acknowledge nothing gets the limits.
BOOST_FIXTURE_TEST_CASE(made_up_clients_take_bounded_memory, narrow_room) {
  constexpr std::uint64_t changes = 100;
  const auto before = ::mallinfo2().uordblks;
  for (client_id client = 1; client <= 2'000; ++client) {
    operation_batch batch{.first_open = 1, .operations = {}};
    for (std::uint64_t sequence = 1; sequence <= changes; ++sequence) batch.operations.push_back(twice(sequence));
    operate(client, 1, std::move(batch));
    advance(1s);
  }
  const auto after = ::mallinfo2().uordblks;
  BOOST_TEST(after <= before + 200'000, after - std::min(before, after) << " bytes");
}

BOOST_FIXTURE_TEST_CASE(a_client_too_many_is_refused_until_another_was_silent_for_long_and_harms_nobody, narrow_room) {
  for (client_id client = 1; client <= 8; ++client) operate(client, 1, batch_of(twice(1)));
  const auto refused = operate(9, 1, batch_of(late(1, operation_kind::assign, 1.0f)));
  BOOST_TEST_REQUIRE(refused->there);
  BOOST_TEST(refused->problem.ok());
  BOOST_TEST((refused->refused.code() == status_code::resource_exhausted));
  BOOST_TEST(refused->refused.message().find("clients_max") != std::string::npos);
  BOOST_TEST(transport->fetches.empty());
  BOOST_TEST(operate(8, 1, batch_of(twice(2)))->outcomes.at(0).ended.ok());
  advance(1h);
  BOOST_TEST(operate(9, 1, batch_of(twice(1)))->outcomes.at(0).ended.ok());
}

// V-1
BOOST_FIXTURE_TEST_CASE(what_comes_again_after_an_hour_of_silence_is_refused_and_what_is_new_is_applied, server_room) {
  operate(1, 1, batch_of(late(1, operation_kind::assign, 1.0f)));
  complete(0);
  operate(1, 1, batch_of(twice(2)));
  advance(1h - 1s);
  BOOST_TEST(operate(1, 2, batch_of(twice(2)))->outcomes.at(0).ended.ok());
  BOOST_TEST(content() == 2.0f);
  advance(1h);
  const auto again = operate(1, 3, batch_of(twice(2)));
  BOOST_TEST_REQUIRE(again->there);
  BOOST_TEST((again->outcomes.at(0).ended.code() == status_code::unknown));
  BOOST_TEST((operate(1, 2, batch_of(twice(3)))->problem.code() == status_code::aborted));
  BOOST_TEST(operate(1, 3, batch_of(twice(3)))->outcomes.at(0).ended.ok());
  BOOST_TEST(content() == 4.0f);
}

// A client counts its links and operations for all shards of all servers, so that these are high where it comes late.
BOOST_FIXTURE_TEST_CASE(a_client_may_come_late_and_to_a_new_life_of_the_server, server_room) {
  operate(1, 1'000, batch_of(late(5'000, operation_kind::assign, 1.0f), 4'000));
  complete(0);
  BOOST_TEST(operate(1, 1'001, batch_of(twice(5'001), 5'001))->outcomes.at(0).ended.ok());
  BOOST_TEST(content() == 2.0f);
}

// --- shards on a device
// -----------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(operations_on_a_device_give_what_they_give_on_the_host, device_room) {
  const auto first = operate(1, 1, batch_of(late(1, operation_kind::assign, 3.0f)));
  complete(0);
  BOOST_TEST(first->outcomes.at(0).ended.render() == "ok");
  operate(1, 1, batch_of(twice(2)));
  operate(1, 1, batch_of(twice(2)));  // again: not applied
  BOOST_TEST(content() == 6.0f);
}

BOOST_FIXTURE_TEST_CASE(an_optimizers_slots_are_there_and_come_back_with_a_snapshot, device_room) {
  shard_operation step{.sequence = 1,
                       .kind = operation_kind::apply_gradient,
                       .operand = large_tensor(1.0f),
                       .rule = optimizer::with_momentum(0.5, 0.9)};
  BOOST_TEST(operate(1, 1, batch_of(step))->there == false);
  complete(0);
  BOOST_TEST(content() == -0.5f);
  const auto all = operate(2, 1, batch_of({.sequence = 1, .kind = operation_kind::snapshot}));
  BOOST_TEST_REQUIRE(all->there);
  const auto& snapshot = all->outcomes.at(0);
  BOOST_TEST(snapshot.slots.at("momentum").device() == "CPU:0");
  BOOST_TEST(first_of(snapshot.slots.at("momentum")) == -0.5f);
  BOOST_TEST(snapshot.step == 1);
}

BOOST_FIXTURE_TEST_CASE(after_an_operation_that_was_late_nothing_is_asked_of_its_device_until_it_answers, device_room) {
  auto why = [&, sequence = std::uint64_t{0}](operation_kind kind) mutable {
    const auto asked = operate(1, 1, batch_of({.sequence = ++sequence, .kind = kind}));
    BOOST_TEST_REQUIRE(asked->there);
    BOOST_TEST((asked->outcomes.at(0).ended.code() == status_code::deadline_exceeded));
    return asked->outcomes.at(0).ended.render();
  };
  const auto is_sooner = [](const std::string& text) {
    return text.find("GPU:0 does not answer within 250 ms, and did not end an operation before within 1000 ms") !=
           std::string::npos;
  };
  for (auto round = 0; round < 2; ++round) {
    hang_emulated_gpu(device());
    const auto first = why(operation_kind::read);
    BOOST_TEST(!is_sooner(first), first);
    auto quickest = duration::max();
    // What needs no device does not mean that it answers.
    for (const auto kind : {operation_kind::read, operation_kind::describe, operation_kind::read}) {
      std::swap(handle, neighbour);
      const auto begin = std::chrono::steady_clock::now();
      const auto next = why(kind);
      quickest = std::min<duration>(quickest, std::chrono::steady_clock::now() - begin);
      BOOST_TEST(is_sooner(next), next);
    }
    BOOST_TEST((quickest < 1s));
    repair_emulated_gpu(device());
    BOOST_TEST(content() == 0.0f);
  }
}

BOOST_FIXTURE_TEST_CASE(a_device_that_hangs_or_fails_is_an_error_of_the_operation_that_names_it, device_room) {
  hang_emulated_gpu(device());
  const auto hung = operate(1, 1, batch_of({.sequence = 1, .kind = operation_kind::read}));
  BOOST_TEST_REQUIRE(hung->there);
  const auto why = hung->outcomes.at(0).ended;
  BOOST_TEST((why.code() == status_code::deadline_exceeded));
  BOOST_TEST(
      why.render().find("variable \"w\"; caused by deadline_exceeded: GPU:0 has not come to the end of its work") !=
          std::string::npos,
      why.render());
  repair_emulated_gpu(device());
  BOOST_TEST(content() == 0.0f);
  fail_emulated_gpu(device(), "it is too hot");
  const auto failed = operate(1, 1, batch_of({.sequence = 2, .kind = operation_kind::read}));
  BOOST_TEST(failed->outcomes.at(0).ended.render().find("GPU:0 has failed in copy_to_host: it is too hot") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

// What the middleman may be given of what other processes send (runtime/cluster/link_gate.hpp), frame by frame.
#include "support/program_log_in_memory.hpp"
#include "support/virtual_system.hpp"

#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/messages/message_types.hpp>
#include <troupe/actors/rpc/rpc_messages.hpp>
#include <troupe/runtime/cluster/basp_guard.hpp>
#include <troupe/runtime/cluster/link_gate.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_registry.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/binary_serializer.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/io/basp/version.hpp>
#include <caf/message.hpp>
#include <caf/message_id.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(link_gate_suite)

using namespace troupe;
using caf::io::basp::header;
using caf::io::basp::message_type;

namespace {

caf::node_id process(std::uint32_t number) { return process_system{.process = {{1}}, .number = number}.node(); }

/// A process that has connected as this task.
void connect(known_peers& peers, std::uint32_t number, const task_id& task) {
  peer_identity who;
  who.task = task;
  who.system = process_system::of(process(number));
  peers.expect(number, who);
  BOOST_REQUIRE(peers.begin(number, process(number)).ok());
}

constexpr std::uint64_t request = caf::message_id::default_async_value | 5;

/// An actor of this interface that understands nothing.
template <class Actor>
class silent_actor : public Actor::base {
 public:
  using Actor::base::base;
  using behavior = typename Actor::behavior_type;
  behavior make_behavior() override {
    return {typename behavior::unsafe_init{}, caf::message_handler{[](const errand&) {}}};
  }
};

struct configured {
  configured() {
    guard_basp();
    add_troupe_types(config);
  }
  caf::actor_system_config config;
};

struct world : configured {
  world() {
    connect(gate.peers(), 1, {"chief", 0});
    connect(gate.peers(), 2, {"worker", 3});
    connect(gate.peers(), 3, {});
    chief_process.set(process(1));
  }
  ~world() {
    for (const auto& each : spawned) caf::anon_send_exit(each, caf::exit_reason::user_shutdown);
  }

  template <class Handle>
  std::uint64_t reachable(const Handle& actor) {
    spawned.push_back(caf::actor_cast<caf::actor>(actor));
    system.registry().put(actor->id(), caf::actor_cast<caf::strong_actor_ptr>(actor));
    return actor->id();
  }
  template <class Actor>
  std::uint64_t actor_of() {
    return reachable(system.spawn<silent_actor<Actor>>());
  }
  std::uint64_t actor_of_application() {
    return reachable(system.spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; }));
  }

  template <class... Parts>
  std::vector<char> content(const Parts&... parts) {
    std::vector<char> result;
    caf::binary_serializer sink{system, result};
    std::vector<caf::strong_actor_ptr> stages;
    BOOST_REQUIRE(!sink(stages, caf::make_message(parts...)));
    return result;
  }

  status verdict_of(std::uint64_t to, const std::vector<char>& what, std::uint32_t from,
                    std::uint64_t id = caf::message_id::default_async_value, std::uint8_t flags = 0) {
    const header head{message_type::direct_message, flags, static_cast<std::uint32_t>(what.size()), id, 7, to};
    return gate.check_message(nullptr, head, what, {process(from)});
  }
  /// The texts of headers.
  std::string header_problem(message_type kind, std::size_t bytes, std::uint64_t to, bool greeted = true,
                             std::uint64_t id = 0, bool dialled = false) {
    const auto message = kind == message_type::direct_message || kind == message_type::routed_message;
    const auto handshake = kind == message_type::server_handshake;
    const header head{kind,
                      0,
                      static_cast<std::uint32_t>(bytes),
                      handshake ? caf::io::basp::version : id,
                      kind == message_type::down_message ? caf::actor_id{7} : caf::actor_id{0},
                      message || kind == message_type::monitor_message ? to : 0};
    return gate.check_header(head, {greeted ? process(2) : caf::node_id{}, dialled});
  }

  caf::actor_system system{config};
  chief_of_member chief_process{system};
  link_gate gate{system};
  std::vector<caf::actor> spawned;
};

constexpr auto malformed = "a message that no process of this version sends";
constexpr std::uint32_t chief = 1;
constexpr std::uint32_t stranger = 2;

}  // namespace

// --- headers --------------------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(nothing_but_a_handshake_is_the_first_frame, world) {
  const auto to = actor_of_application();
  BOOST_TEST(header_problem(message_type::client_handshake, 40, 0, false) == "");
  // CAF would read content that is not there.
  BOOST_TEST(header_problem(message_type::client_handshake, 0, 0, false) == "no header of CAF's protocol");
  BOOST_TEST(header_problem(message_type::direct_message, 40, to, false) == "a message before the handshake");
  BOOST_TEST(header_problem(message_type::monitor_message, 40, to, false) == "a message before the handshake");
  BOOST_TEST(header_problem(message_type::down_message, 40, 0, false) == "a message before the handshake");
  BOOST_TEST(header_problem(message_type::heartbeat, 0, 0, false) == "a message before the handshake");
  BOOST_TEST(header_problem(message_type::direct_message, 40, to) == "");
  BOOST_TEST(header_problem(message_type::heartbeat, 0, 0) == "");
}

BOOST_FIXTURE_TEST_CASE(a_server_greets_whoever_has_dialled_it_and_once, world) {
  BOOST_TEST(header_problem(message_type::server_handshake, 40, 0, false, 0, true) == "");
  BOOST_TEST(header_problem(message_type::server_handshake, 40, 0, false, 0, false) ==
             "a server's handshake that nobody has asked for");
  BOOST_TEST(header_problem(message_type::server_handshake, 40, 0, true, 0, true) ==
             "a server's handshake that nobody has asked for");
  BOOST_TEST(header_problem(message_type::client_handshake, 40, 0, true, 0, true) ==
             "a client's handshake from a server");
}

// H1: two bytes of content ended any process.
BOOST_FIXTURE_TEST_CASE(streams_of_caf_are_refused, world) {
  const auto to = actor_of_application();
  for (const auto kind : {message_type::direct_message, message_type::routed_message}) {
    for (const std::uint64_t category : {2, 3})
      BOOST_TEST(header_problem(kind, 2, to, true, category << 60) == "a stream of CAF, which troupe does not use");
    for (const std::uint64_t category : {0, 1}) BOOST_TEST(header_problem(kind, 2, to, true, category << 60) == "");
  }
}

// H6: half a gigabyte for 32 bytes.
BOOST_FIXTURE_TEST_CASE(what_is_over_its_limit_is_refused_before_it_comes, world) {
  const auto application = actor_of_application();
  const auto door_of_member = actor_of<member_actor>();
  BOOST_TEST(header_problem(message_type::client_handshake, link_limits::handshake, 0, false) == "");
  BOOST_TEST(header_problem(message_type::client_handshake, link_limits::handshake + 1, 0, false) ==
             "a frame over the limit of its kind");
  BOOST_TEST(header_problem(message_type::monitor_message, link_limits::notice + 1, application) ==
             "a frame over the limit of its kind");
  BOOST_TEST(header_problem(message_type::direct_message, link_limits::message, application) == "");
  BOOST_TEST(header_problem(message_type::direct_message, link_limits::message + 1, application) ==
             "a frame over the limit of its kind");
  BOOST_TEST(header_problem(message_type::direct_message, std::size_t{16} << 20, door_of_member) == "");
  BOOST_TEST(header_problem(message_type::direct_message, std::size_t{18} << 20, door_of_member) ==
             "a message over the limit of its receiver");
  // What it has asked for itself may be larger.
  BOOST_TEST(header_problem(message_type::direct_message, std::size_t{18} << 20, door_of_member, true,
                            caf::message_id{request}.response_id().integer_value()) == "");
}

// --- who may send what ----------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(each_row_holds_for_its_sender, world) {
  const auto member = actor_of<member_actor>();
  const auto worker = actor_of<worker_actor>();
  const auto executor = actor_of<rpc::executor_actor>();
  const auto retire = content(retire_atom_v, wire<status>{});
  const auto dismiss = content(dismiss_atom_v, std::uint64_t{3});
  BOOST_TEST(verdict_of(member, retire, chief).ok());
  BOOST_TEST(verdict_of(member, retire, stranger).message() ==
             "the door of a member takes \"retire\" from its chief only");
  BOOST_TEST((verdict_of(member, retire, stranger).code() == status_code::permission_denied));
  BOOST_TEST(verdict_of(member, content(alive_atom_v, std::uint64_t{1}), stranger).ok());
  BOOST_TEST(verdict_of(worker, dismiss, chief).ok());
  BOOST_TEST(!verdict_of(worker, dismiss, stranger).ok());
  // H4: a client could stop a server for all.
  for (const auto from : {chief, stranger})
    BOOST_TEST(verdict_of(executor, retire, from).message() ==
               "an executor of an RPC server does not take this message from another process");
  BOOST_TEST(!verdict_of(executor, dismiss, stranger).ok());
  // From the own process only: it ends the member.
  BOOST_TEST(!verdict_of(member, content(leave_atom_v, wire<status>{}), chief).ok());
}

BOOST_FIXTURE_TEST_CASE(a_worker_shows_itself_to_whoever_may_become_its_chief, configured) {
  caf::actor_system system{config};
  link_gate gate{system};
  const auto actor = system.spawn<silent_actor<member_actor>>();
  system.registry().put(actor->id(), caf::actor_cast<caf::strong_actor_ptr>(actor));
  std::vector<char> asked;
  caf::binary_serializer sink{system, asked};
  std::vector<caf::strong_actor_ptr> stages;
  BOOST_REQUIRE(!sink(stages, caf::make_message(worker_atom_v)));
  const auto allowed = [&](std::uint32_t from) {
    const header head{
        message_type::direct_message, 0, static_cast<std::uint32_t>(asked.size()), request, 7, actor->id()};
    return gate.check_message(nullptr, head, asked, {process(from)}).ok();
  };
  BOOST_TEST(!allowed(chief));  // it is not connected
  connect(gate.peers(), chief, {"chief", 0});
  connect(gate.peers(), stranger, {"worker", 3});
  constexpr std::uint32_t of_no_cluster = 77;
  connect(gate.peers(), of_no_cluster, {});
  constexpr std::uint32_t another_chief = 78;
  connect(gate.peers(), another_chief, {"chief", 0});
  BOOST_TEST(allowed(chief));
  BOOST_TEST(allowed(another_chief));
  BOOST_TEST(!allowed(stranger));
  BOOST_TEST(!allowed(of_no_cluster));
  {
    chief_of_member known{system};
    known.set(process(chief));
    BOOST_TEST(allowed(chief));
    BOOST_TEST(!allowed(another_chief));
  }
  BOOST_TEST(allowed(another_chief));
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
}

// F2: an ordinary call of a client adopted a waiting worker.
BOOST_FIXTURE_TEST_CASE(only_a_chief_adopts, world) {
  const auto member = actor_of<member_actor>();
  const auto adopt = content(adopt_atom_v, membership_actor{}, wire<adoption>{});
  connect(gate.peers(), 78, {"chief", 0});
  for (const auto& [from, may] : {std::pair{1U, true}, {2U, false}, {3U, false}, {77U, false}, {78U, true}})
    BOOST_TEST(verdict_of(member, adopt, from, request).ok() == may, from);
}

// F1: who obeys a node id obeys whoever states it.
BOOST_FIXTURE_TEST_CASE(the_chiefs_process_is_obeyed_as_a_chief_only, world) {
  const auto member = actor_of<member_actor>();
  chief_process.set(process(stranger));
  BOOST_TEST(!verdict_of(member, content(retire_atom_v, wire<status>{}), stranger).ok());
}

// LR-2
BOOST_FIXTURE_TEST_CASE(what_a_third_process_passes_on_reaches_actors_of_the_application_only, world) {
  const auto passed_on = [&](std::uint64_t to, std::uint32_t source, std::uint32_t hop, std::uint64_t id) {
    std::vector<char> routed;
    caf::binary_serializer sink{system, routed};
    std::vector<caf::strong_actor_ptr> stages;
    BOOST_REQUIRE(!sink(process(source), system.node(), stages, caf::make_message(alive_atom_v, std::uint64_t{1})));
    const header head{message_type::routed_message, 0, static_cast<std::uint32_t>(routed.size()), id, 7, to};
    return gate.check_message(nullptr, head, routed, {process(hop)}).ok();
  };
  const auto member = actor_of<member_actor>();
  const auto any = actor_of_application();
  constexpr std::uint32_t of_no_cluster = 3;
  const auto answer = caf::make_message_id(request).response_id().integer_value();
  BOOST_TEST(passed_on(any, chief, stranger, request));
  BOOST_TEST(!passed_on(member, chief, stranger, request));
  BOOST_TEST(passed_on(member, stranger, stranger, request));
  BOOST_TEST(passed_on(member, chief, stranger, answer));
  BOOST_TEST(!passed_on(any, chief, of_no_cluster, request));
  BOOST_TEST(!passed_on(member, chief, of_no_cluster, answer));
  BOOST_TEST(passed_on(any, of_no_cluster, of_no_cluster, request));
}

// H7: whoever reached a port could end any actor.
BOOST_FIXTURE_TEST_CASE(nobody_elsewhere_ends_an_actor_of_troupe, world) {
  const auto member = actor_of<member_actor>();
  const auto exit = content(caf::exit_msg{{}, caf::exit_reason::kill});
  for (const auto from : {chief, stranger}) {
    BOOST_TEST(!verdict_of(member, exit, from).ok());
    BOOST_TEST(verdict_of(actor_of_application(), exit, from).ok());
  }
}

BOOST_FIXTURE_TEST_CASE(only_own_actors_are_tied_to_those_of_another_process, world) {
  const auto member = actor_of<member_actor>();
  const auto application = actor_of_application();
  const auto own = caf::actor_cast<caf::strong_actor_ptr>(spawned.front());
  const auto tie = content(caf::link_atom_v, own);
  BOOST_TEST(!verdict_of(application, tie, stranger).ok());
  BOOST_TEST(!verdict_of(member, tie, stranger).ok());
  // As an answer: CAF does not look whether it is one.
  BOOST_TEST(!verdict_of(member, tie, stranger, caf::message_id{request}.response_id().integer_value()).ok());
}

BOOST_FIXTURE_TEST_CASE(cafs_own_actors_answer_a_greeting_and_nothing_else, world) {
  const auto named = [&](std::string_view name, const std::vector<char>& what) {
    return verdict_of(static_cast<std::uint64_t>(caf::atom_from_string(std::string{name})), what, stranger, 0,
                      header::named_receiver_flag)
        .ok();
  };
  BOOST_TEST(named("SpawnServ", content(caf::sys_atom_v, caf::get_atom_v, std::string{"info"})));
  // CAF would print these.
  BOOST_TEST(!named("SpawnServ", content(caf::sys_atom_v, caf::get_atom_v, std::string{"anything"})));
  BOOST_TEST(!named("SpawnServ", content(caf::sys_atom_v, caf::put_atom_v, std::string{"info"})));
  BOOST_TEST(!named("SpawnServ", content(caf::spawn_atom_v, std::string{"worker"}, caf::make_message())));
  BOOST_TEST(!named("ConfigServ", content(caf::get_atom_v, std::string{"*"})));
  BOOST_TEST(!verdict_of(system.config_serv()->id(), content(caf::put_atom_v, std::string{"a"}, caf::make_message(1)),
                         stranger)
                  .ok());
}

// --- what CAF would stumble over ------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(what_caf_makes_for_itself_comes_from_nobody_else, world) {
  const auto to = actor_of_application();
  for (const auto* const type : {"@down", "@timeout", "@open_stream_msg", "@upstream_msg", "@downstream_msg", "@group",
                                 "@group_down", "@config_value"}) {
    auto what = content(1);
    // Its types are named in the beginning, after the stages, a number and their length.
    const auto names = std::string{"@<>+@i32+"} + type;
    what.resize(3);
    what.push_back(static_cast<char>(names.size()));
    what.insert(what.end(), names.begin(), names.end());
    BOOST_TEST(verdict_of(to, what, chief).message() == malformed, type);
  }
  BOOST_TEST(verdict_of(to, content(1), stranger).ok());
}

/// CAF throws while it reads some of them, in a thread that catches nothing.
BOOST_FIXTURE_TEST_CASE(nor_does_it_come_in_a_message_within_another, world) {
  const auto to = actor_of_application();
  const auto nested = content(caf::make_error(caf::sec::runtime_error, "a text", std::string{"another"}));
  BOOST_TEST(verdict_of(to, nested, stranger).ok());
  for (const auto* const type : {"@down", "@timeout", "@open_stream_msg", "@upstream_msg", "@downstream_msg", "@group",
                                 "@group_down", "@config_value"}) {
    const std::string_view text{nested.data(), nested.size()};
    const auto at = text.rfind("@str");
    BOOST_REQUIRE(at != std::string_view::npos);
    std::vector<char> changed{nested.begin(), nested.begin() + static_cast<std::ptrdiff_t>(at)};
    changed.insert(changed.end(), type, type + std::string_view{type}.size());
    changed.insert(changed.end(), nested.begin() + static_cast<std::ptrdiff_t>(at) + 4, nested.end());
    BOOST_TEST(verdict_of(to, changed, chief).message() == malformed, type);
    BOOST_TEST(gate.check_end(changed).message() == malformed, type);
  }
}

BOOST_FIXTURE_TEST_CASE(messages_in_messages_end_somewhere, world) {
  const auto to = actor_of_application();
  auto inner = caf::make_message(1, 2);
  for (auto i = 0; i < 100; ++i) inner = caf::make_message(1, inner);
  BOOST_TEST(verdict_of(to, content(inner), stranger).ok());
  for (std::size_t i = 0; i < link_limits::nested_messages; ++i) inner = caf::make_message(1, inner);
  BOOST_TEST(verdict_of(to, content(inner), stranger).message() == malformed);
  BOOST_TEST(gate.check_end(content(inner)).message() == malformed);
}

BOOST_FIXTURE_TEST_CASE(what_is_no_message_is_malformed_wherever_it_ends, world) {
  const auto to = actor_of_application();
  const auto whole = content(alive_atom_v, std::uint64_t{1}, std::string{"text"});
  const auto names_end = whole.size() - 8 - 8 - 5;
  for (std::size_t size = 0; size < names_end; ++size)
    BOOST_TEST(verdict_of(to, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}, chief).message() ==
                   malformed,
               size << " bytes");
  BOOST_TEST(verdict_of(to, {'\x7f', '\0', '\0', '\0'}, chief).message() == malformed);
  BOOST_TEST(verdict_of(to, {'\xff', '\xff', '\xff', '\xff', '\xff', '\xff'}, chief).message() == malformed);
}

// A log that nobody reads in time would hold up the links of all.
BOOST_FIXTURE_TEST_CASE(what_was_refused_is_counted_by_reason_and_told_once_a_minute, world) {
  const program_log_in_memory log;
  gate.count("one", process(stranger));
  for (auto i = 0; i < 5; ++i) gate.count("another", process(stranger));
  BOOST_TEST(gate.count_of("one") == 1);
  BOOST_TEST(gate.count_of("another") == 5);
  BOOST_TEST(gate.count_of("a third") == 0);
  const auto told = log.text();
  BOOST_TEST(std::count(told.begin(), told.end(), '\n') == 2, told);
}

BOOST_AUTO_TEST_SUITE_END()

// An actor system drops a message with an unknown type without a word, and its sender waits until a deadline. So every
// element of every message that may leave its process has to be known to a system that has troupe's types.
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/messages/message_types.hpp>
#include <troupe/actors/rpc/rpc_messages.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/closures/value_promise.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/type_nr.hpp>
#include <caf/typed_actor.hpp>

#include <type_traits>
#include <typeindex>

BOOST_AUTO_TEST_SUITE(message_types_suite)

using namespace troupe;

namespace {

struct troupe_types : caf::actor_system_config {
  troupe_types() { add_troupe_types(*this); }
};

/// CAF's own types are known to every system; what is allowed to be unsafe stays in its process.
template <class T>
void check_known(const caf::actor_system_config& config) {
  if constexpr (caf::type_nr<T>::value == 0 && !caf::is_allowed_unsafe_message_type<T>::value) {
    const std::type_index type{typeid(T)};
    BOOST_TEST_CONTEXT(type_name<T>) {
      BOOST_TEST(config.value_factories_by_rtti.contains(type));
      const auto name = config.type_names_by_rtti.find(type);
      BOOST_REQUIRE((name != config.type_names_by_rtti.end()));
      BOOST_TEST(config.value_factories_by_name.contains(name->second));
    }
  }
}

template <class... Messages>
struct elements;

template <class... Takes, class... Answers>
struct elements<caf::typed_mpi<caf::detail::type_list<Takes...>, caf::output_tuple<Answers...>>> {
  static void check(const caf::actor_system_config& config) {
    (check_known<Takes>(config), ...);
    if constexpr (!(std::is_void_v<Answers> || ...)) (check_known<Answers>(config), ...);
  }
};

template <class... Messages>
struct elements<caf::typed_actor<Messages...>> {
  static void check(const caf::actor_system_config& config) { (elements<Messages>::check(config), ...); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(every_element_of_every_message_between_processes_is_known_by_type_and_by_name) {
  const troupe_types config;
  elements<outcome_sink>::check(config);
  elements<worker_actor>::check(config);
  elements<shard_actor>::check(config);
  elements<parameter_server_actor>::check(config);
  elements<membership_actor>::check(config);
  elements<presence_actor>::check(config);
  elements<member_actor>::check(config);
  elements<event_listener>::check(config);
  elements<event_bus_actor>::check(config);
  elements<closure_desk_actor>::check(config);
  elements<participant_actor>::check(config);
  elements<rendezvous_actor>::check(config);
  elements<value_promise_actor>::check(config);
  elements<rpc::reply_sink>::check(config);
  elements<rpc::executor_actor>::check(config);
  elements<rpc::connection_actor>::check(config);
  elements<rpc::door_actor>::check(config);
}

BOOST_AUTO_TEST_SUITE_END()

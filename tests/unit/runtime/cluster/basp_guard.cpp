// Which of several connections to a process CAF's middleman uses, when it takes the process for unreachable, and for
// what it makes room; basp_guard.hpp.
#include <troupe/runtime/cluster/basp_guard.hpp>
#include <troupe/runtime/cluster/link_gate.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>
#include <caf/io/basp/routing_table.hpp>
#include <caf/node_id.hpp>
#include <caf/scoped_execution_unit.hpp>

#include <cstdint>
#include <string>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(basp_guard_suite)

namespace {

caf::io::connection_handle connection(int number) { return caf::io::connection_handle::from_int(number); }

caf::node_id process(std::uint32_t number) {
  return caf::make_node_id(number, caf::node_id::default_data::host_id_type{});
}

constexpr auto connections = 8;

/// Knows one process by several connections, of which the first is in use.
struct world {
  world() {
    guard_basp();
    table.add_direct(connection(1), process(1));
    for (auto i = 2; i <= connections; ++i) table.add_alternative(connection(i), process(1));
  }

  bool uses(int number) const {
    const auto used = table.lookup_direct(process(1));
    return used && *used == connection(number);
  }

  caf::io::basp::routing_table table{nullptr};
};

/// A value as it crosses a link.
template <class T>
std::vector<char> written(const T& value) {
  std::vector<char> result;
  caf::scoped_execution_unit nobody;
  caf::binary_serializer sink{&nobody, result};
  BOOST_REQUIRE(!sink(value));
  return result;
}

/// Why it can't be read; ok: it is there, and nothing is left.
template <class T>
caf::error problem_with(const std::vector<char>& bytes, T& value) {
  caf::scoped_execution_unit nobody;
  caf::binary_deserializer source{&nobody, bytes};
  if (auto why = source(value)) return why;
  BOOST_TEST(source.remaining() == 0u);
  return {};
}

template <class T>
bool survives(const T& value) {
  T read;
  return !problem_with(written(value), read) && read == value;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_connection_in_use_stays_in_use_when_another_one_to_the_process_closes, world) {
  for (auto i = 2; i <= connections; ++i) {
    BOOST_TEST(!table.erase_direct(connection(i)));
    BOOST_TEST(uses(1), "connection " << i << " has closed");
  }
  BOOST_TEST((table.erase_direct(connection(1)) == process(1)));
  BOOST_TEST(!table.lookup_direct(process(1)));
}

BOOST_FIXTURE_TEST_CASE(a_connection_that_the_other_side_has_chosen_stays_in_use, world) {
  table.select_alternative(connection(5), process(1));
  for (const auto closed : {1, 8, 2, 4, 7, 3, 6}) {
    BOOST_TEST(!table.erase_direct(connection(closed)));
    BOOST_TEST(uses(5), "connection " << closed << " has closed");
  }
}

BOOST_FIXTURE_TEST_CASE(a_process_is_reached_over_what_is_left_and_is_gone_with_its_last_connection, world) {
  table.add_direct(connection(9), process(2));
  for (auto i = 1; i < connections; ++i) {
    BOOST_TEST(!table.erase_direct(connection(i)));
    const auto used = table.lookup_direct(process(1));
    BOOST_TEST_REQUIRE(static_cast<bool>(used));
    BOOST_TEST((table.lookup_direct(*used) == process(1)));
  }
  BOOST_TEST((table.erase_direct(connection(connections)) == process(1)));
  BOOST_TEST(!table.erase_direct(connection(connections)));
  BOOST_TEST((table.lookup_direct(process(2)) == connection(9)));
}

// Each costs memory and an actor of CAF's, and names are free.
BOOST_FIXTURE_TEST_CASE(a_process_makes_no_more_than_so_many_others_reachable, world) {
  constexpr std::uint32_t first = 1000;
  for (std::uint32_t i = 0; i < link_limits::indirect_processes; ++i)
    BOOST_REQUIRE(table.add_indirect(process(1), process(first + i)));
  BOOST_TEST(!table.add_indirect(process(1), process(first - 1)));
  BOOST_TEST(!table.lookup(process(first - 1)));
  // What is known is none more.
  table.add_direct(connection(9), process(2));
  BOOST_TEST(!table.add_indirect(process(2), process(first)));
  BOOST_TEST(table.erase_indirect(process(first)));
  BOOST_TEST(table.add_indirect(process(2), process(first)));
}

BOOST_AUTO_TEST_CASE(a_list_that_states_more_than_has_come_takes_no_memory) {
  // Four gigabytes, of which one byte is there.
  const std::vector<char> announced{char(0xff), char(0xff), char(0xff), char(0xff), 0x0f, 1};
  std::vector<char> bytes;
  BOOST_TEST((problem_with(announced, bytes) == caf::sec::end_of_stream));
  BOOST_TEST(bytes.capacity() == 0u);
  std::vector<bool> bits;
  BOOST_TEST((problem_with(announced, bits) == caf::sec::end_of_stream));
  BOOST_TEST(bits.capacity() == 0u);
  std::vector<std::vector<std::uint8_t>> of_lists;
  BOOST_TEST((problem_with({1, char(0xff), char(0xff), char(0xff), 0x7f}, of_lists) == caf::sec::end_of_stream));
  // A size that never ends.
  BOOST_TEST((problem_with(std::vector<char>(1000, char(0xff)), bytes) == caf::sec::end_of_stream));
  BOOST_TEST((problem_with({}, bytes) == caf::sec::end_of_stream));
}

BOOST_AUTO_TEST_CASE(lists_that_are_all_there_are_read) {
  for (const auto size : {0u, 1u, 7u, 8u, 9u, 127u, 128u, 20'000u, 3'000'000u}) {
    BOOST_TEST(survives(std::vector<char>(size, 'x')), size);
    BOOST_TEST(survives(std::vector<bool>(size, true)), size);
    BOOST_TEST(survives(std::string(size, 'x')), size);
    BOOST_TEST(survives(std::vector<std::string>(size)), size);
  }
}

BOOST_AUTO_TEST_SUITE_END()

// Disks of simulated hosts that are full, slow or new, and those that reach their limit; and the same by a plan.
#include "disks.hpp"

#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/files/atomic_file.hpp>
#include <troupe/runtime/files/npy_file.hpp>

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(disk_failures_suite)

using namespace troupe;

BOOST_AUTO_TEST_CASE(on_a_full_disk_a_write_fails_with_path_and_reason_and_the_old_file_stays) {
  simulated_world world{{.seed = 1}};
  world.host("server", idle);
  const auto save = [](float value) { write_npy_file("data/model.npy", tensor::full(shape{100}, value)); };
  const auto names_it = [](const resource_exhausted_error& full) {
    return contains(full.message(), "data/model.npy\" cannot be written") &&
           contains(full.message(), "No space left on device");
  };
  run_on(world, "server", [&] {
    create_directories("data");
    save(1);
  });
  for (const std::string mend : {"mend_disk", "heal_everything"}) {
    world.fill_disk("server");
    BOOST_CHECK_THROW(world.fill_disk("server"), failed_precondition_error);
    run_on(world, "server", [&] {
      BOOST_CHECK_EXCEPTION(save(2), resource_exhausted_error, names_it);
      auto here = file::append_to("data/model.npy");
      BOOST_CHECK_EXCEPTION(here.append(bytes_of_text("x")), resource_exhausted_error, names_it);
      BOOST_CHECK_THROW(create_directories("more"), resource_exhausted_error);
      here.sync();
      BOOST_TEST(read_npy_file("data/model.npy").values<float>()[99] == 1);
      BOOST_TEST(list_directory("data") == std::vector<std::string>{"model.npy"}, boost::test_tools::per_element());
    });
    mend == "mend_disk" ? world.mend_disk("server") : world.heal_everything();
    BOOST_CHECK_THROW(world.mend_disk("server"), failed_precondition_error);
  }
  run_on(world, "server", [&] {
    save(2);
    BOOST_TEST(read_npy_file("data/model.npy").values<float>()[99] == 2);
  });
}

BOOST_AUTO_TEST_CASE(a_temporary_file_that_a_full_disk_has_cut_short_is_removed) {
  simulated_world world{{.seed = 1}};
  world.host("server", idle);
  run_on(world, "server", [&] {
    create_directories("data");
    world.start_program("server", [&world] { world.fill_disk("server"); });
    BOOST_CHECK_THROW(
        {
          atomic_file made{"data/model"};
          sleep_for(1ms);
          made.write(bytes_of_text("content"));
        },
        resource_exhausted_error);
    BOOST_TEST(list_directory("data").empty());
  });
}

BOOST_AUTO_TEST_CASE(a_slow_disk_takes_the_virtual_time_of_fibers_and_none_of_handlers) {
  simulated_world world{{.seed = 1}};
  world.host("server", idle);
  const auto time_of = [&](std::size_t bytes) {
    duration took{};
    run_on(world, "server", [&] {
      auto journal = file::append_to("journal");
      const auto begin = world.now();
      journal.append(bytes_of_text(std::string(bytes, 'x')));
      journal.sync();
      took = world.now() - begin;
    });
    return took;
  };
  BOOST_TEST((time_of(1000) == 0ns));
  world.slow_disk("server", {.latency = 10ms, .bytes_per_second = 1'000'000});
  // A write and a sync.
  BOOST_TEST((time_of(1000) == 21ms));
  BOOST_TEST((time_of(100'000) == 120ms));
  std::optional<duration> in_handler;
  const auto handler = world.system("server").spawn([&](caf::event_based_actor*) -> caf::behavior {
    return {[&](caf::put_atom) {
      const auto begin = world.now();
      write_npy_file("model.npy", tensor::full(shape{100}, 1.0f));
      in_handler = world.now() - begin;
    }};
  });
  caf::anon_send(handler, caf::put_atom_v);
  BOOST_TEST(world.run_until([&] { return in_handler.has_value(); }, 1s));
  BOOST_TEST((in_handler == 0ns));
  caf::anon_send_exit(handler, caf::exit_reason::user_shutdown);
  world.heal_everything();
  BOOST_TEST((time_of(1000) == 0ns));
  BOOST_CHECK_THROW(world.slow_disk("server", {.latency = -1ms}), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(a_call_to_the_slowest_of_disks_takes_a_day) {
  simulated_world world{{.seed = 1}};
  world.host("server", idle);
  run_on(world, "server", [] { write_durably("large", std::string(100'000, 'x')); });
  for (const disk_slowness by :
       {disk_slowness{.latency = duration::max()}, disk_slowness{.latency = 25h, .bytes_per_second = 1},
        disk_slowness{.latency = 23h, .bytes_per_second = 1}}) {
    world.slow_disk("server", by);
    const auto begin = world.now();
    const auto ended = world.start_program("server", [] { read_file("large"); });
    // It is opened and read.
    BOOST_TEST_REQUIRE(world.run_until([&] { return ended.ended(); }, 72h));
    BOOST_TEST((world.now() - begin > 46h && world.now() - begin <= 48h));
  }
}

BOOST_AUTO_TEST_CASE(a_cancelled_fiber_ends_its_call_to_a_slow_disk_and_hears_of_it_at_its_next_wait) {
  simulated_world world{{.seed = 1}};
  world.host("server", idle);
  world.slow_disk("server", {.latency = 1s});
  auto heard = 0;
  run_on(world, "server", [&] {
    auto journal = file::append_to("journal");
    fiber_host::current()->cancel(fiber_host::current_key(), {status_code::cancelled, "not wanted"});
    journal.append(bytes_of_text("record"));
    try {
      sleep_for(1s);
    } catch (const cancelled_error&) {
      ++heard;
    }
  });
  BOOST_TEST(heard == 1);
  run_on(world, "server", [] { BOOST_TEST(read_file("journal") == "record"); });
}

BOOST_AUTO_TEST_CASE(a_wiped_disk_is_empty_and_only_hosts_without_a_process_are_wiped) {
  simulated_world world{{.seed = 1}};
  world.host("server", idle);
  run_on(world, "server", [] {
    create_directories("data");
    write_durably("data/state", "content");
  });
  BOOST_CHECK_EXCEPTION(world.wipe_disk("server"), failed_precondition_error,
                        [](const error& refused) { return contains(refused.message(), "kill it first"); });
  world.kill("server");
  world.fill_disk("server");
  world.wipe_disk("server");
  world.restart("server");
  run_on(world, "server", [] {
    BOOST_TEST(!file_exists("data/state"));
    BOOST_CHECK_THROW(list_directory("data"), not_found_error);
    write_durably("state", "a new one is not full");
  });
}

BOOST_AUTO_TEST_CASE(more_than_the_limit_is_refused_with_its_name_and_room_comes_back) {
  simulated_world world{{.seed = 1, .disk_bytes_max = 1000}};
  world.host("server", idle);
  run_on(world, "server", [] {
    write_durably("small", std::string(600, 'x'));
    auto large = file::create("large");
    BOOST_CHECK_EXCEPTION(large.append(bytes_of_text(std::string(401, 'x'))), resource_exhausted_error,
                          [](const error& refused) {
                            return contains(refused.message(), "large\" cannot be written") &&
                                   contains(refused.message(), "server holds 1000 bytes") &&
                                   contains(refused.message(), "world_options::disk_bytes_max");
                          });
    BOOST_CHECK_THROW(large.write_at(~std::uint64_t{0}, bytes_of_text("x")), resource_exhausted_error);
    large.append(bytes_of_text(std::string(400, 'x')));
    large.write_at(0, bytes_of_text(std::string(400, 'y')));
    remove_file("small");
    sync_directory(".");
    large.append(bytes_of_text(std::string(600, 'x')));
    BOOST_TEST(large.size() == 1000u);
  });
}

BOOST_AUTO_TEST_CASE(a_plan_may_fill_slow_mend_and_wipe_disks) {
  fault_plan plan;
  plan.at(10ms).fill_disk("server");
  plan.at(20ms).mend_disk("server");
  plan.at(30ms).slow_disk("server", {.latency = 5ms});
  plan.at(50ms).kill("server");
  plan.at(60ms).wipe_disk("server");
  plan.at(70ms).restart("server");
  simulated_world world{{.seed = 1, .plan = plan}};
  std::vector<std::string> problems;
  std::vector<std::uint64_t> sizes;
  world.host("server", [&](simulated_host&) {
    auto journal = file::append_to("journal");
    for (;;) {
      try {
        const auto begin = world.now();
        journal.append(bytes_of_text("x"));
        sizes.push_back(journal.size());
        problems.push_back(world.now() == begin ? "" : "slow");
      } catch (const resource_exhausted_error& failed) {
        problems.push_back(to_string(failed.code()));
      }
      sleep_for(7ms);
    }
  });
  world.advance(80ms);
  const std::vector<std::string> expected{"", "", "resource_exhausted", "", "", "slow", "", ""};
  BOOST_TEST(problems == expected, boost::test_tools::per_element());
  BOOST_TEST(sizes == (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 1, 2}), boost::test_tools::per_element());
  for (const auto& each : world.coverage()) BOOST_TEST(each.fired == 1u, each.what);
}

BOOST_AUTO_TEST_SUITE_END()

// The disks of simulated hosts: what survives a kill and a loss of power, what a sync is worth, and that nothing of it
// reaches the real one. Disks that fail: disk_failures.cpp.
#include "disks.hpp"

#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/exploration.hpp>
#include <troupe/runtime/files/atomic_file.hpp>
#include <troupe/runtime/files/idx_file.hpp>
#include <troupe/runtime/files/npy_file.hpp>
#include <troupe/runtime/files/safetensors.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>

#include <unistd.h>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(disks_suite)

using namespace troupe;

namespace {

constexpr std::uint64_t seeds = 200;

/// What the file holds on the host after it was without power; nothing: there is none.
std::optional<std::string> after_a_loss_of_power(std::uint64_t seed, const std::string& path,
                                                 const std::function<void()>& program) {
  simulated_world world{{.seed = seed}};
  world.host("server", idle);
  run_on(world, "server", program);
  world.switch_off("server");
  world.restart("server");
  std::optional<std::string> result;
  run_on(world, "server", [&] {
    if (file_exists(path)) result = read_file(path);
  });
  return result;
}

/// The same for all seeds.
std::set<std::optional<std::string>> all_after_a_loss_of_power(const std::string& path,
                                                               const std::function<void()>& program) {
  std::set<std::optional<std::string>> result;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) result.insert(after_a_loss_of_power(seed, path, program));
  return result;
}

/// A folder of the real disk, gone after the test.
struct real_folder {
  real_folder() { std::filesystem::create_directories(path); }
  ~real_folder() { std::filesystem::remove_all(path); }
  real_folder(const real_folder&) = delete;

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream{path / name} << content;
    return (path / name).string();
  }
  std::string read(const std::string& name) const {
    std::ifstream from{path / name};
    return {std::istreambuf_iterator<char>{from}, {}};
  }

  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("troupe-simulated-disks-" + std::to_string(::getpid()));
};

}  // namespace

// --- what survives --------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_host_whose_process_was_killed_can_lose_its_power_afterwards) {
  auto lost = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    simulated_world world{{.seed = seed}};
    std::string found;
    world.host("server", [&](simulated_host& here) {
      auto journal = file::append_to("journal");
      if (here.start() == 2) found = read_file("journal");
      if (here.start() != 1) return;
      journal.append(bytes_of_text("durable"));
      journal.sync();
      sync_directory(".");
      journal.append(bytes_of_text(" or not"));
      sleep_for(1h);
    });
    world.advance(1s);
    world.kill("server");
    world.switch_off("server");
    world.restart("server");
    world.advance(1s);
    BOOST_TEST(found.starts_with("durable"), found);
    if (found != "durable or not") ++lost;
  }
  BOOST_TEST(lost > 0);
}

BOOST_AUTO_TEST_CASE(a_killed_process_loses_nothing_that_it_has_written) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    simulated_world world{{.seed = seed}};
    std::string found;
    world.host("server", [&](simulated_host& here) {
      if (here.start() == 2) {
        found = read_file("journal");
        return;
      }
      auto journal = file::append_to("journal");
      journal.append(bytes_of_text("one"));
      journal.append(bytes_of_text("two"));
      sleep_for(1h);
    });
    live_twice(world, "server");
    BOOST_TEST(found == "onetwo");
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_synced_survives_a_loss_of_power_as_a_prefix_that_may_be_torn) {
  const auto found = all_after_a_loss_of_power("journal", [] {
    write_durably("journal", "old.");
    auto journal = file::append_to("journal");
    for (const std::string record : {"one.", "two.", "three."}) journal.append(bytes_of_text(record));
  });
  const std::string whole = "old.one.two.three.";
  auto torn = 0;
  for (const auto& each : found) {
    BOOST_TEST_REQUIRE(each.has_value());
    BOOST_TEST((each->size() >= 4 && whole.starts_with(*each)), *each);
    torn += each->ends_with('.') ? 0 : 1;
  }
  BOOST_TEST(torn > 0);
  for (const auto* each : {"old.", "old.one.", "old.one.two.", "old.one.two.three."})
    BOOST_TEST(found.contains(each), each);
}

BOOST_AUTO_TEST_CASE(what_is_synced_survives_every_loss_of_power) {
  const auto found = all_after_a_loss_of_power("journal", [] {
    write_durably("journal", "old.");
    auto journal = file::append_to("journal");
    journal.append(bytes_of_text("one."));
    journal.write_at(0, bytes_of_text("new."));
    journal.sync();
  });
  BOOST_TEST((found == std::set<std::optional<std::string>>{"new.one."}));
}

BOOST_AUTO_TEST_CASE(writes_survive_in_their_order_and_cuts_of_the_end_with_them) {
  const auto found = all_after_a_loss_of_power("page", [] {
    write_durably("page", "aaaa");
    auto page = file::append_to("page");
    page.write_at(0, bytes_of_text("b"));
    page.resize(2);
    page.write_at(4, bytes_of_text("c"));
  });
  const std::set<std::optional<std::string>> expected{"aaaa", "baaa", "ba", std::string{"ba\0\0c", 5},
                                                      std::string{"ba\0\0", 4}};
  for (const auto& each : found) BOOST_TEST(expected.contains(each), *each);
  for (const auto* each : {"aaaa", "baaa", "ba"}) BOOST_TEST(found.contains(each), each);
  BOOST_TEST(found.contains(std::string{"ba\0\0c", 5}));
}

BOOST_AUTO_TEST_CASE(a_new_name_survives_or_not_until_its_directory_is_synced) {
  const auto write = [](bool syncs_directory) {
    return all_after_a_loss_of_power("state", [=] {
      auto made = file::create("state");
      made.append(bytes_of_text("content"));
      made.sync();
      if (syncs_directory) sync_directory(".");
    });
  };
  BOOST_TEST((write(false) == std::set<std::optional<std::string>>{std::nullopt, "content"}));
  BOOST_TEST((write(true) == std::set<std::optional<std::string>>{"content"}));
}

BOOST_AUTO_TEST_CASE(a_removed_file_may_come_back_until_its_directory_is_synced) {
  const auto removed = [](bool syncs_directory) {
    return all_after_a_loss_of_power("state", [=] {
      write_durably("state", "content");
      remove_file("state");
      BOOST_TEST(!file_exists("state"));
      if (syncs_directory) sync_directory(".");
    });
  };
  BOOST_TEST((removed(false) == std::set<std::optional<std::string>>{std::nullopt, "content"}));
  BOOST_TEST((removed(true) == std::set<std::optional<std::string>>{std::nullopt}));
}

BOOST_AUTO_TEST_CASE(a_rename_is_whole_but_what_it_names_is_torn_for_some_seed_if_it_was_not_synced) {
  const auto replace = [](bool syncs, bool syncs_directory) {
    return all_after_a_loss_of_power("state", [=] {
      write_durably("state", "old state");
      auto next = file::create("next");
      next.append(bytes_of_text("new state"));
      if (syncs) next.sync();
      rename_file("next", "state");
      if (syncs_directory) sync_directory(".");
    });
  };
  using possible = std::set<std::optional<std::string>>;
  BOOST_TEST((replace(true, true) == possible{"new state"}));
  BOOST_TEST((replace(true, false) == possible{"old state", "new state"}));
  auto torn = replace(false, true);
  BOOST_TEST(torn.contains("new state"));
  BOOST_TEST(!torn.contains("old state"));
  BOOST_TEST(torn.size() > 2u);
}

BOOST_AUTO_TEST_CASE(a_rename_to_another_directory_leaves_no_second_name) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    simulated_world world{{.seed = seed}};
    world.host("server", idle);
    run_on(world, "server", [] {
      create_directories("inbox");
      create_directories("done");
      auto made = file::create("inbox/order");
      made.append(bytes_of_text("order"));
      made.sync();
      rename_file("inbox/order", "done/order");
      sync_directory("done");
    });
    world.switch_off("server");
    world.restart("server");
    run_on(world, "server", [] {
      BOOST_TEST(list_directory("inbox").empty());
      BOOST_TEST(list_directory("done") == std::vector<std::string>{"order"}, boost::test_tools::per_element());
    });
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_was_committed_is_there_as_a_whole_whenever_the_power_goes) {
  auto between = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    simulated_world world{{.seed = seed}};
    std::int64_t committed = 0;
    std::int64_t found = 0;
    world.host("server", [&](simulated_host& here) {
      if (here.start() == 2) {
        const auto read = read_npy_file("model.npy");
        const auto values = read.values<std::int64_t>();
        found = values[0];
        BOOST_TEST(std::count(values.begin(), values.end(), found) == 100);
        return;
      }
      for (;;) {
        write_npy_file("model.npy", tensor::full(shape{100}, committed + 1));
        ++committed;
        sleep_for(100us);
      }
    });
    world.slow_disk("server", {.latency = 1ms});
    BOOST_TEST_REQUIRE(world.run_until([&] { return committed == 2; }, 1s));
    world.advance(duration{static_cast<duration::rep>(world.random(20'000'000))});
    world.switch_off("server");
    world.restart("server");
    world.advance(1s);
    BOOST_TEST((found == committed || found == committed + 1));
    if (found == committed + 1) ++between;
  }
  // It was renamed, but commit() had not said so yet.
  BOOST_TEST(between > 0);
}

BOOST_AUTO_TEST_CASE(a_process_that_has_died_writes_nothing_while_it_unwinds) {
  simulated_world world{{.seed = 1}};
  std::vector<std::string> left;
  auto refused = 0;
  world.host("server", [&](simulated_host& here) {
    if (here.start() == 2) {
      left = list_directory("data");
      return;
    }
    create_directories("data");
    auto journal = file::create("data/journal");
    const std::shared_ptr<void> at_end{nullptr, [&](void*) {
                                         try {
                                           file::create("data/last words");
                                         } catch (const cancelled_error&) {
                                           ++refused;
                                         }
                                         try {
                                           journal.append(bytes_of_text("more"));
                                         } catch (const cancelled_error&) {
                                           ++refused;
                                         }
                                       }};
    atomic_file half{"data/model"};
    half.write(bytes_of_text("half"));
    sleep_for(1h);
  });
  live_twice(world, "server");
  BOOST_TEST(refused == 2);
  // The temporary file stays, as after a real kill.
  BOOST_TEST_REQUIRE(left.size() == 2u);
  BOOST_TEST((left[0].starts_with(".model.") && left[0].ends_with(".partial")), left[0]);
  BOOST_TEST(left[1] == "journal");
}

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_losses_again_and_says_which) {  // S-1
  const auto play = [](simulated_world& world) {
    world.host("server", [](simulated_host&) {
      for (auto i = 0;; ++i) {
        auto journal = file::append_to("journal");
        journal.append(bytes_of_text("record"));
        if (i % 7 == 0) journal.sync();
        atomic_file made{"state"};
        made.write(bytes_of_text("state"));
        if (i % 3 == 0) made.commit();
        sleep_for(1ms);
      }
    });
    for (auto i = 0; i < 5; ++i) {
      world.advance(20ms);
      world.switch_off("server");
      world.restart("server");
      world.start_program("server", [&world] { world.note(read_file("journal")); });
    }
  };
  auto losses = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto difference = find_difference(play, {.seed = seed});
    BOOST_TEST(!difference.has_value(), difference.value_or(""));
    simulated_world world{{.seed = seed}};
    play(world);
    for (const auto& line : world.trace()) losses += contains(line, "has lost what was not synced of /") ? 1 : 0;
  }
  BOOST_TEST(losses > 0);
}

BOOST_AUTO_TEST_CASE(what_a_disk_loses_changes_no_other_draw) {  // S-2
  const auto course = [](int files) {
    simulated_world world{{.seed = 4, .traces_steps = true}};
    world.host("other", idle);
    world.host("server", [files](simulated_host&) {
      for (auto i = 0; i < files; ++i) file::create("file " + std::to_string(i)).append(bytes_of_text("content"));
    });
    world.advance(1s);
    world.switch_off("server");
    world.restart("server");
    world.advance(1s);
    auto result = world.trace();
    std::erase_if(result, [](const std::string& line) { return contains(line, "has lost"); });
    result.push_back(std::to_string(world.random(1'000'000'000)));
    return result;
  };
  BOOST_TEST(course(0) == course(10), boost::test_tools::per_element());
}

// --- whose disk -----------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(each_host_has_its_own_and_the_real_disk_is_only_read) {
  const real_folder real;
  const auto shared = real.write("shared", "real");
  const auto other = real.write("other", "real, too");
  simulated_world world{{.seed = 1}};
  world.host("a", idle);
  world.host("b", idle);
  run_on(world, "a", [&] {
    BOOST_TEST(read_file(shared) == "real");
    file::append_to(shared).append(bytes_of_text(" and more"));
    BOOST_TEST(read_file(shared) == "real and more");
    rename_file(shared, shared + ".moved");
    remove_file(other);
    write_npy_file((real.path / "made.npy").string(), tensor::scalar(1.0f));
    BOOST_TEST(list_directory(real.path.string()) == (std::vector<std::string>{"made.npy", "shared.moved"}),
               boost::test_tools::per_element());
    BOOST_CHECK_THROW(read_file(other), not_found_error);
    BOOST_CHECK_THROW(read_npy_file(other), not_found_error);
  });
  run_on(world, "b", [&] {
    BOOST_TEST(read_file(shared) == "real");
    file::create(other);
    BOOST_TEST(read_file(other).empty());
    BOOST_TEST(list_directory(real.path.string()) == (std::vector<std::string>{"other", "shared"}),
               boost::test_tools::per_element());
    BOOST_CHECK_THROW(file::open(shared).append(bytes_of_text("x")), failed_precondition_error);
  });
  BOOST_TEST(real.read("shared") == "real");
  BOOST_TEST(real.read("other") == "real, too");
  BOOST_TEST(list_directory(real.path.string()) == (std::vector<std::string>{"other", "shared"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(names_that_cannot_be_are_refused_as_on_a_real_disk) {
  simulated_world world{{.seed = 1}};
  world.host("server", idle);
  run_on(world, "server", [] {
    BOOST_CHECK_THROW(file::open("none"), not_found_error);
    BOOST_CHECK_THROW(file::create(""), not_found_error);
    BOOST_CHECK_THROW(file::create("nowhere/file"), not_found_error);
    BOOST_CHECK_THROW(rename_file("none", "other"), not_found_error);
    BOOST_CHECK_THROW(remove_file("none"), not_found_error);
    BOOST_CHECK_THROW(sync_directory("nowhere"), not_found_error);
    create_directories("data/inner");
    create_directories("data");
    BOOST_TEST(list_directory("data") == std::vector<std::string>{"inner"}, boost::test_tools::per_element());
    BOOST_CHECK_THROW(file::create("data"), failed_precondition_error);
    BOOST_CHECK_THROW(file::open("data"), failed_precondition_error);
    BOOST_CHECK_THROW(remove_file("data"), failed_precondition_error);
    write_durably("file", "content");
    BOOST_CHECK_THROW(create_directories("file/inner"), not_found_error);
    BOOST_CHECK_THROW(file::create("file/inner"), not_found_error);
    BOOST_CHECK_THROW(rename_file("file", "data"), failed_precondition_error);
    BOOST_CHECK_THROW(rename_file("data", "other"), failed_precondition_error);
    BOOST_CHECK_THROW(file::create("/dev/null"), failed_precondition_error);
    // The same file by other names.
    BOOST_TEST(read_file("./data/../file") == "content");
    remove_file("file");
    create_directories("file");
    BOOST_TEST(list_directory("file").empty());
  });
}

BOOST_AUTO_TEST_CASE(formats_that_are_mapped_or_unpacked_are_read_from_it) {
  simulated_world world{{.seed = 1}};
  world.host("server", idle);
  run_on(world, "server", [] {
    constexpr std::array<unsigned char, 11> idx{0, 0, 8, 1, 0, 0, 0, 3, 1, 2, 3};
    file::create("digits").append(std::as_bytes(std::span{idx}));
    BOOST_TEST(read_idx_file("digits").values<std::uint8_t>()[2] == 3);
    constexpr std::int64_t rows = 100'000;
    const safetensors_entry entry{"weights", {tensor::full(shape{rows}, 2.0f)}};
    write_safetensors("model", {&entry, 1});
    const safetensors_file model{"model"};
    // Pages that were forgotten come back, also when the file has another content or none by now.
    remove_file("model");
    model.forget_rows("weights", 0, rows);
    BOOST_TEST(model.read("weights").values<float>()[rows / 2] == 2);
  });
}

BOOST_AUTO_TEST_SUITE_END()

// The ranks of a group meet at each other's doors: threads of this process, each with a door of its own.
#include "support/cluster_certificates.hpp"
#include "support/refusal.hpp"
#include "unit/device/collectives/communicator_cases.hpp"

#include <troupe/device/collectives/message_communicator.hpp>
#include <troupe/runtime/cluster/group_visitors.hpp>
#include <troupe/runtime/replicas/group_mesh.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

BOOST_AUTO_TEST_SUITE(group_mesh_suite)

namespace {

using namespace std::chrono_literals;
using namespace troupe;
using namespace troupe::communicator_cases;

constexpr auto patience = 20s;
const std::string meeting = "a meeting";

std::chrono::steady_clock::time_point in(std::chrono::nanoseconds span) {
  return std::chrono::steady_clock::now() + span;
}

task_id task_of(int rank) { return rank == 0 ? task_id{"chief", 0} : task_id{"worker", rank - 1}; }

/// Ranks that all listen.
class ranks_at_doors {
 public:
  explicit ranks_at_doors(std::vector<credentials> each) : with_(std::move(each)) {
    for (auto rank = 0; rank < size(); ++rank) {
      hosts_.push_back(std::make_unique<group_host>(task_of(rank)));
      doors_.push_back(open_group_door({"127.0.0.1", 0}, party(rank), at(rank)));
      ranks_.push_back({task_of(rank), {"127.0.0.1", doors_.back()->port()}});
    }
  }

  int size() const { return static_cast<int>(with_.size()); }
  const credentials& at(int rank) const { return with_[static_cast<std::size_t>(rank)]; }
  peer_identity party(int rank) const { return {.cluster = at(rank).cluster, .task = task_of(rank)}; }
  std::vector<group_rank>& ranks() { return ranks_; }
  void leave(int rank) { hosts_[static_cast<std::size_t>(rank)].reset(); }

  std::unique_ptr<communicator> connect(int rank, std::chrono::nanoseconds limit = patience) {
    return make_message_communicator(rank, connect_group(ranks_, rank, meeting, party(rank), at(rank), in(limit)));
  }

 private:
  std::vector<credentials> with_;
  std::vector<std::unique_ptr<group_host>> hosts_;
  std::vector<std::unique_ptr<door>> doors_;
  std::vector<group_rank> ranks_;
};

void compute_together(std::vector<credentials> each) {
  ranks_at_doors here{std::move(each)};
  const auto size = here.size();
  const auto ends = run_threads(size, [&](int rank) {
    const auto group = here.connect(rank);
    for (const auto count : {1, 1'000'000}) {
      auto x = tensor::full(shape{count}, static_cast<float>(rank + 1));
      group->all_reduce(x, reduce_op::sum, patience);
      expect(x.values<float>().back() == static_cast<float>(size * (size + 1) / 2), "the sum");
    }
  });
  require_ok(ends);
}

credentials with_secret(const std::string& text) { return {.secret = std::make_shared<const cluster_secret>(text)}; }

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_meet_and_compute) { compute_together(std::vector<credentials>(4)); }

BOOST_AUTO_TEST_CASE(ranks_meet_with_a_secret) {
  compute_together(std::vector(3, with_secret("the secret of this group")));
}

BOOST_AUTO_TEST_CASE(ranks_meet_under_tls_and_compute) {
  const cluster_certificates certificates{"together"};
  compute_together({certificates.credentials_of("chief"), certificates.credentials_of("worker"),
                    certificates.credentials_of("worker")});
}

// Between two collectives a rank may compute for longer than what counts as unreachable elsewhere.
BOOST_AUTO_TEST_CASE(a_rank_may_read_nothing_for_any_time) {
  ranks_at_doors here{std::vector<credentials>(2)};
  const auto ends = run_threads(2, [&](int rank) {
    const auto mesh = connect_group(here.ranks(), rank, meeting, here.party(rank), here.at(rank), in(patience));
    for (const auto& stream : mesh) {
      if (!stream) continue;
      unsigned unread_limit = 1;
      socklen_t length = sizeof(unread_limit);
      ::getsockopt(stream->socket(), IPPROTO_TCP, TCP_USER_TIMEOUT, &unread_limit, &length);
      if (unread_limit != 0) throw internal_error{"a rank that reads nothing loses its connection"};
    }
  });
  for (const auto& end : ends) BOOST_TEST(end.ok(), end.render());
}

BOOST_AUTO_TEST_CASE(who_has_another_secret_does_not_meet_them) {
  ranks_at_doors here{{with_secret("the secret of this group"), with_secret("the secret of another")}};
  const auto ends = run_threads(2, [&](int rank) { here.connect(rank, rank == 0 ? 200ms : patience); });
  BOOST_TEST((ends[0].code() == status_code::deadline_exceeded), ends[0].render());
  BOOST_TEST((ends[1].code() == status_code::unauthenticated), ends[1].render());
}

BOOST_AUTO_TEST_CASE(who_comes_as_another_task_than_his_certificate_s_does_not_meet_them) {
  const cluster_certificates certificates{"together"};
  ranks_at_doors here{{certificates.credentials_of("chief"), certificates.credentials_of("client")}};
  const auto ends = run_threads(2, [&](int rank) { here.connect(rank, 500ms); });
  for (const auto& end : ends) BOOST_TEST(!end.ok());
}

BOOST_AUTO_TEST_CASE(who_does_not_come_is_named_when_the_limit_passes) {
  ranks_at_doors here{std::vector<credentials>(3)};
  const auto ends = run_threads(1, [&](int) { here.connect(0, 50ms); });
  require_all(ends, status_code::deadline_exceeded,
              "rank 0 of 3 is not connected with rank 1, /job:worker/task:0 at 127.0.0.1:");
}

BOOST_AUTO_TEST_CASE(who_is_not_there_is_named_at_once) {
  ranks_at_doors here{std::vector<credentials>(2)};
  here.ranks()[0].address.port = 1;
  const auto ends = run_threads(1, [&](int) { here.connect(1); });
  require_all(ends, status_code::unavailable, "rank 0, /job:chief/task:0 at 127.0.0.1:1");
}

BOOST_AUTO_TEST_CASE(another_task_at_the_address_is_named) {
  ranks_at_doors here{std::vector<credentials>(3)};
  std::swap(here.ranks()[0].address, here.ranks()[1].address);
  const auto ends = run_threads(1, [&](int) { here.connect(2, 1s); });
  require_all(ends, status_code::unavailable, "/job:worker/task:0 listens there");
}

BOOST_AUTO_TEST_CASE(visitors_of_a_task_that_is_in_no_group_are_closed) {
  ranks_at_doors here{std::vector<credentials>(2)};
  here.leave(0);
  const auto ends = run_threads(1, [&](int) { here.connect(1)->barrier(patience); });
  require_all(ends, status_code::unavailable, "rank 0 is lost");
}

BOOST_AUTO_TEST_CASE(two_meetings_of_the_same_ranks_are_kept_apart) {
  ranks_at_doors here{std::vector<credentials>(2)};
  const auto connect = [&](int rank, const std::string& name) {
    return make_message_communicator(rank, connect_group(here.ranks(), rank, name, here.party(rank), {}, in(patience)));
  };
  // The second rank comes to both before the first one asks for any.
  const auto one = connect(1, "one");
  const auto two = connect(1, "two");
  const auto ends = run_threads(2, [&](int which) {
    if (which == 0) {
      auto x = tensor::scalar(7);
      one->barrier(patience);
      return two->broadcast(x, 1, patience);
    }
    const auto second = connect(0, "two");
    const auto first = connect(0, "one");
    first->barrier(patience);
    auto x = tensor::scalar(0);
    second->broadcast(x, 1, patience);
    expect(x.item<int>() == 7, "what was sent in the second meeting");
  });
  require_ok(ends);
}

BOOST_AUTO_TEST_CASE(who_calls_again_is_met_where_he_called_last) {
  auto& all = group_visitors::of_process();
  const group_host chief{task_of(0)};
  const auto call = [&] {
    std::array<int, 2> ends{};
    BOOST_TEST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    all.take(task_of(0), channel{descriptor{ends[0]}}, {.topic = meeting, .who = {.task = task_of(1)}});
    return descriptor{ends[1]};
  };
  const auto is_closed = [](const descriptor& end) {
    char byte = 0;
    return ::recv(end.get(), &byte, 1, MSG_DONTWAIT) == 0;
  };
  const auto first = call();
  const auto last = call();
  BOOST_TEST(is_closed(first));
  const auto met = all.wait_for(task_of(0), meeting, task_of(1), in(patience));
  BOOST_TEST(!is_closed(last));
}

BOOST_AUTO_TEST_CASE(of_too_many_visitors_the_one_that_waits_longest_is_closed) {
  group_visitors visitors;
  // Nobody is in a group in it: all are closed.
  visitors.take(task_of(0), {}, {.topic = meeting, .who = {.task = task_of(1)}});
  BOOST_TEST(refuses<deadline_exceeded_error>([&] { visitors.wait_for(task_of(0), meeting, task_of(1), in(1ms)); },
                                              "/job:worker/task:0 has not called /job:chief/task:0"));
  auto& all = group_visitors::of_process();
  const group_host chief{task_of(0)};
  for (std::size_t i = 0; i <= group_visitors::visitors_max; ++i)
    all.take(task_of(0), {}, {.topic = std::to_string(i), .who = {.task = task_of(1)}});
  BOOST_TEST(
      refuses<deadline_exceeded_error>([&] { all.wait_for(task_of(0), "0", task_of(1), in(1ms)); }, "has not called"));
  all.wait_for(task_of(0), "1", task_of(1), in(patience));
}

BOOST_AUTO_TEST_SUITE_END()

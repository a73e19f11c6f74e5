// Jobs on hosts of their own whose processes have certificates, with a coordinator and in step: who listens at their
// cables reads nothing of them.
#include "cluster/test_program.hpp"
#include "host_sockets.hpp"
#include "placement.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <sys/socket.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(private_job_suite)

namespace {

using namespace std::chrono_literals;

/// Listens at a host's interfaces, as its administrator could, or whoever has its cable.
class cable_recorder {
 public:
  /// `texts`: what to look for.
  cable_recorder(const host_network& network, int host, std::vector<std::string> texts)
      : texts_(std::move(texts)), socket_(packets_of(network, host)) {
    // So that little is lost while this process has no turn.
    const auto room_bytes = 64 << 20;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &room_bytes, sizeof(room_bytes));
    thread_ = std::thread{[this] { record(); }};
  }
  ~cable_recorder() { stop(); }
  cable_recorder(const cable_recorder&) = delete;

  /// All that has come is looked through then.
  void stop() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  /// Once it has stopped.
  std::size_t recorded_bytes() const { return recorded_bytes_; }
  const std::set<std::string>& read() const { return read_; }

 private:
  static descriptor packets_of(const host_network& network, int host) {
    auto made = socket_on(network, host, SOCK_DGRAM, AF_PACKET);
    sockaddr_ll everything = {};
    everything.sll_family = AF_PACKET;
    everything.sll_protocol = htons(ETH_P_ALL);
    BOOST_REQUIRE(::bind(made.get(), reinterpret_cast<const sockaddr*>(&everything), sizeof(everything)) == 0);
    return made;
  }

  void record() {
    std::vector<char> packet(std::size_t{128} << 10);  // longer than the kernel makes them between such hosts
    while (true) {
      pollfd watched{socket_.get(), POLLIN, 0};
      if (::poll(&watched, 1, 20) == 0 && is_over_) return;
      const auto count = ::recv(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT);
      if (count <= 0) continue;
      recorded_bytes_ += static_cast<std::size_t>(count);
      const std::string_view said{packet.data(), static_cast<std::size_t>(count)};
      for (const auto& text : texts_)
        if (!read_.contains(text) && said.find(text) != std::string_view::npos) read_.insert(text);
    }
  }

  const std::vector<std::string> texts_;
  const descriptor socket_;
  std::size_t recorded_bytes_ = 0;
  std::set<std::string> read_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

constexpr std::int32_t first_number = 100'000;

/// What stands in the tensors of the jobs, some MiB of which go over the cable.
std::string numbers_in_tensors() {
  std::array<std::int32_t, 16> numbers{};
  std::iota(numbers.begin(), numbers.end(), first_number);
  std::string result(sizeof(numbers), '\0');
  std::memcpy(result.data(), numbers.data(), sizeof(numbers));
  return result;
}

const std::string name_of_a_message = "troupe.run_orders";

/// Gathers what each rank has, some of which is the numbers.
void gather(process_group& group) {
  const auto connection = group.communicator_of_processes();
  auto own = tensor::zeros(dtype::int32, {1 << 20});
  auto numbers = own.mutable_values<std::int32_t>();
  std::iota(numbers.begin(), numbers.end(), group.rank() + first_number);
  const auto all = connection->all_gather(own, 20s);
  require(all.values<std::int32_t>()[0] == first_number && all.values<std::int32_t>()[2 << 20] == first_number + 2,
          "what all ranks have");
  if (group.rank() == 0) say("all done");
}

const group_program in_step{"gathers", gather};

/// What a listener at the cable of the second host has read of a job that ran to its end.
std::set<std::string> read_of(const std::string& program, process_cluster_options options,
                              const std::map<task_id, int>& host_of) {
  const host_network network{3};
  cable_recorder recorder{network, 1, {numbers_in_tensors(), name_of_a_message}};
  options.place = placed(network, host_of);
  process_cluster cluster{program, std::move(options)};
  cluster.start();
  cluster.wait_for("all done");
  require_good_ends(cluster);
  recorder.stop();
  constexpr std::size_t tensors_bytes = std::size_t{4} << 20;
  BOOST_TEST(recorder.recorded_bytes() > tensors_bytes);
  return recorder.read();
}

std::set<std::string> read_of_a_job(std::shared_ptr<cluster_certificates> certificates) {
  return read_of("job", {.servers = 2, .certificates = std::move(certificates)},
                 {{chief_task, 0}, {server_task(0), 1}, {worker_task(0), 1}, {server_task(1), 2}, {worker_task(1), 2}});
}

std::set<std::string> read_of_a_group(std::shared_ptr<cluster_certificates> certificates) {
  return read_of(in_step.name(), {.workers = 2, .servers = 0, .certificates = std::move(certificates)},
                 {{chief_task, 0}, {worker_task(0), 1}, {worker_task(1), 2}});
}

}  // namespace

BOOST_AUTO_TEST_CASE(at_the_cable_of_a_job_with_certificates_nothing_can_be_read) {
  BOOST_TEST_CONTEXT("without certificates") BOOST_TEST(read_of_a_job(nullptr).size() == 2u);
  BOOST_TEST_CONTEXT("with certificates")
  BOOST_TEST(read_of_a_job(std::make_shared<cluster_certificates>("private")).empty());
}

BOOST_AUTO_TEST_CASE(at_the_cable_of_a_group_with_certificates_nothing_can_be_read) {
  BOOST_TEST_CONTEXT("without certificates") BOOST_TEST(read_of_a_group(nullptr).contains(numbers_in_tensors()));
  BOOST_TEST_CONTEXT("with certificates")
  BOOST_TEST(read_of_a_group(std::make_shared<cluster_certificates>("private")).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe

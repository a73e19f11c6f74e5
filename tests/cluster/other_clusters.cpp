// Processes whose certificates are of the same authority, but of another cluster: neither side of a connection accepts
// the other, whatever it states as its cluster.
#include "attacked_job.hpp"
#include "intruder.hpp"
#include "loopback_port.hpp"
#include "support/refusal.hpp"

#include <troupe/runtime/door/conversation.hpp>
#include <troupe/runtime/rpc_client.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include <fcntl.h>
#include <poll.h>

namespace troupe::hostile {

BOOST_AUTO_TEST_SUITE(other_clusters_suite)

namespace {

using namespace std::chrono_literals;

const std::string own_cluster = "attacked";
const std::string other_cluster = "other";

/// What a process states as its cluster.
const std::array<std::string, 3> statements{"", own_cluster, other_cluster};

credentials with(const certificate_files& files, const std::string& stated) {
  return {.cluster = stated, .tls = std::make_shared<const tls_identity>(files.files())};
}

void check_refused(const status& why, const task_id& at) {
  BOOST_TEST(contains(why.render(), "\"" + other_cluster + "\""), to_string(at) << ": " << why.render());
}

/// The listening side of a handshake that accepts everybody, as an attacker's would.
void accept_everybody(const std::stop_token& enough, const descriptor& from, const tls_files& own) {
  ::fcntl(from.get(), F_SETFL, ::fcntl(from.get(), F_GETFL) | O_NONBLOCK);
  std::unique_ptr<handshake> side{
      new host_handshake{{.task = worker_task(0)}, nullptr, [](const door_hello&) { return status{}; }}};
  conversation talk{std::move(side), tls_session::side::host, tls_context::load(own)};
  while (!enough.stop_requested() && talk.go_on(from.get()) == conversation::progress::waits) {
    pollfd asked{from.get(), POLLIN, 0};
    ::poll(&asked, 1, 20);
  }
  // Until the other side has gone.
  while (!read_from(from, enough).empty()) {
  }
}

}  // namespace

BOOST_DATA_TEST_CASE(a_certificate_of_another_cluster_is_refused_at_each_port, statements, stated) {
  attacked_job job{{}, attacked_job::security::tls};
  for (const auto& task : {task_id{}, worker_task(7), chief_task}) {
    const certificate_files files{job.certificates().authority(),
                                  {other_cluster, task.job.empty() ? "client" : task.job}};
    const scoped_credentials own{with(files, stated)};
    intruder here{{task}};
    for (const auto& port : job.ports()) {
      if (port.task == chief_task) continue;
      status why;
      here.connect(port.address, why);
      check_refused(why, port.task);
    }
    const auto server = to_string(job.port_of(chief_task).address);
    check_refused(status_of_call([&] { rpc::client::create("caf", server, "", 1s); }), chief_task);
  }
  job.check_goes_on("processes of another cluster");
  job.check_end();
}

BOOST_DATA_TEST_CASE(a_process_that_listens_with_a_certificate_of_another_cluster_is_left,
                     boost::unit_test::data::make({std::string{}, own_cluster}), stated) {
  const auto authority = certificate_authority::make(own_cluster);
  const certificate_files of_client{authority, {own_cluster, "client"}};
  const certificate_files of_worker{authority, {other_cluster, "worker"}};
  const scoped_credentials own{with(of_client, stated)};
  const loopback_port port{[files = of_worker.files()](const std::stop_token& enough, const descriptor& from) {
    accept_everybody(enough, from, files);
  }};
  intruder here;
  status why;
  here.connect({"127.0.0.1", port.number()}, why);
  check_refused(why, worker_task(0));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::hostile

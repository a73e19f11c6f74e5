#include "bench_descriptions.hpp"

#include <troupe/device/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace troupe::tools {

namespace {

struct bench_description {
  std::string_view bench;
  std::string_view text;
};

// Only statements that stay true when the figures change.
constexpr std::array descriptions{
    bench_description{
        "schedule",
        R"(Closures that do nothing. `in-process` and `processes` count how many a second pass from `schedule` to the end
of `join`; the reference is an actor that keeps 256 plain messages open at each of as many raw CAF actors. In
one process the reference runs under CAF's default configuration with as many threads as processors, which is
faster here than the configuration of troupe. `busy-worker` measures how long closures take that arrive while
another one occupies one of two workers. `workers-N` measures the processor time of the coordinator alone, with
simulated workers that end each closure at once. The bench keeps freed memory (`M_TRIM_THRESHOLD` of mallopt):
otherwise each round of closures returns its memory to the system and requests it again.)"},
    bench_description{
        "call",
        R"(One closure at a time: `schedule`, run, `fetch`. What bounds it is how soon sleeping threads wake up. A call
passes two more threads than a raw CAF request: from the program to the coordinator, and back. The coordinator
and the worker wait actively for the next message for a short time if the last one came soon, and sleep at once
otherwise.)"},
    bench_description{
        "variables",
        R"(Closures that each make two round trips to a parameter server: a read, and an addition that depends on it. The
reference is a raw CAF actor that answers a request after two requests of its own. Thread wake-ups and the
allocation of memory bound it.)"},
    bench_description{
        "transfer",
        R"(Large variables. Between processes they are read from, and assigned on, a server process, against a raw TCP
stream of the same bytes over loopback; under TLS against the cipher alone on one core. `ping-under-load`
measures small calls, half of them to the same server, while large variables are read without pause.
`read-1GiB-in-process` reads without a copy; its reference is the copy that this saves. `checkpoint-4GiB` saves,
then restores, a model of 16 variables on two servers.)"},
    bench_description{
        "memory",
        R"(Bytes that are allocated for a queued closure and for an idle worker actor, and the resident memory of an idle
worker process, shared libraries included.)"},
    bench_description{
        "training",
        R"(Asynchronous training of the Fashion-MNIST example, an epoch for each repetition, with workers and two servers
in processes of their own. The reference trains the same model in one plain loop of one process. Matrix products
of Eigen bound it; each step of a worker also copies the parameters and the gradients. The workers share the
processors with the servers and the chief.)"},
    bench_description{
        "merge",
        R"(One `merge_call`, for which the replicas of one process wait for each other. It is bound by how soon threads
wake up, and, with more replicas than processors, by threads that take turns. The value depends on the
processors on which the kernel places the threads, so it differs between runs.)"},
    bench_description{
        "all_reduce",
        R"(The sum of one tensor of each rank, by all ranks. `threads`: ranks in one process, against a plain loop that
makes the same additions and waits for nobody. `processes`: ranks in processes of one host over shared memory,
`tcp` and `tls`: the same processes as if they were on several hosts; the reference is gloo over TCP without
encryption. `emulated`: emulated GPUs of one process, against threads that reduce memory of the host;
`emulated-processes`: emulated GPUs of two ends of a group that span processes, against the way through the
memory of the host. From about 1 MiB on, memory bounds it. `troupe bench all_reduce` prints the columns of
nccl-tests for each size.)"},
    bench_description{
        "replicas",
        R"(One step of synchronous training of the Fashion-MNIST network on two replicas of one process. The reference is
the sum of the computation alone and of the reduction alone, one after the other.)"},
    bench_description{
        "rpc",
        R"(Remote procedure calls between two processes, over both layers. Thread wake-ups bound small calls. Over "grpc"
two callback threads wake each other, and a method runs in an actor of its own, so that a long one does not
block its connection. Over "caf" calls that are open together share messages. Memory bounds a tensor: "caf"
receives it in place, gRPC and protobuf copy it several times.)"},
    bench_description{
        "gpu",
        R"(Real GPUs: copies to and from the host, kernels, reductions, training steps whose input is copied meanwhile, and
variables on the GPU of a server; against bare CUDA and NCCL, and for kernels against the bandwidth of a copy
within the GPU. The cases that begin with `emulated` run everywhere. Emulated GPUs compute on the processors and
share the memory of the host, so these cases show what troupe adds, not what a GPU reaches.)"},
    bench_description{
        "recovery",
        R"(Worker processes that are killed with SIGKILL or frozen with SIGSTOP: how soon their closures run elsewhere,
what a kill costs a job that is half done, how soon a killed worker runs closures again, how soon a frozen one
is reported lost, and how often a worker that only shares busy processors is taken for lost. Most references are
goals. The time until a frozen worker is reported lost follows from the options of the failure detector.)"},
    bench_description{
        "door",
        R"(Connections at a listening port: from connecting until both sides have authenticated each other, with a shared
secret or with certificates; and what connections that fail to authenticate cost the closures of a cluster.)"},
    bench_description{
        "scale",
        R"(What grows with the number of members. `admission`, `loss` and `server-loss` count what the chief sends, and
measure the processor time, stand-ins of the members included; the reference is a cluster of 10 members, for
admission and for the loss of a server in proportion. `stall` measures the longest time that one message
occupies the coordinator of 1,000 workers, during which it handles no other message. Everything runs in one
thread, without a network.)"},
    bench_description{
        "compose",
        R"(Actors of the application that a worker offers by name, over the reference that follows a restarted one. The
reference of the bench is the handle of CAF that the same actor has. With many requests open, one timer serves
all requests of a reference, where CAF keeps a timer for each.)"},
    bench_description{
        "simulation",
        R"(Clusters in virtual time, in one thread: steps with a network and faults against messages on CAF's bare test
scheduler, whole runs of a small cluster, a large cluster, and the check of a history for linearizability.)"}};

}  // namespace

std::string describe_bench(const std::string& bench) {
  const auto found = std::find_if(descriptions.begin(), descriptions.end(),
                                  [&](const bench_description& each) { return each.bench == bench; });
  if (found == descriptions.end())
    throw internal_error{fmt::format("the bench {} has no description in bench_descriptions.cpp", bench)};
  return std::string{found->text};
}

}  // namespace troupe::tools

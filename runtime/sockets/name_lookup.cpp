#include <troupe/runtime/sockets/name_lookup.hpp>
#include <troupe/runtime/sockets/name_service.hpp>

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <future>
#include <utility>

namespace troupe {

namespace {

std::vector<socket_address> with_port(std::vector<socket_address> addresses, std::uint16_t port) {
  for (auto& each : addresses) set_port(each, port);
  return addresses;
}

}  // namespace

void look_up_name(const std::shared_ptr<event_loop>& loop, const std::string& host, std::uint16_t port,
                  loop_clock::time_point deadline,
                  std::function<void(std::vector<socket_address> addresses, const status& why)> found) {
  const auto answer = [within = std::weak_ptr{loop}, found = std::move(found), port](
                          const std::vector<socket_address>& addresses, const status& why) {
    if (const auto running = within.lock())
      running->post([found, addresses = with_port(addresses, port), why] { found(addresses, why); });
  };
  if (is_numeric_host(host)) return answer(resolve(host, 0), {});
  name_service::of_process().look_up(host, deadline, answer);
}

std::vector<socket_address> resolve_within(const std::string& host, std::uint16_t port, loop_clock::duration limit) {
  if (is_numeric_host(host)) return resolve(host, port);
  const auto promise = std::make_shared<std::promise<std::vector<socket_address>>>();
  name_service::of_process().look_up(host, time_after(limit),
                                     [promise](const std::vector<socket_address>& addresses, const status& why) {
                                       if (why.ok()) return promise->set_value(addresses);
                                       try {
                                         throw_status(why);
                                       } catch (...) {
                                         promise->set_exception(std::current_exception());
                                       }
                                     });
  auto result = promise->get_future();
  if (result.wait_for(limit) != std::future_status::ready)
    throw deadline_exceeded_error{
        fmt::format("the name service has not answered for the host \"{}\" within {} ms; check it, or use an address "
                    "in numbers",
                    host, std::chrono::duration_cast<std::chrono::milliseconds>(limit).count())};
  return with_port(result.get(), port);
}

}  // namespace troupe

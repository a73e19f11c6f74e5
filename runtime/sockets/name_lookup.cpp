#include <troupe/runtime/sockets/name_lookup.hpp>

#include <fmt/format.h>

#include <exception>
#include <system_error>
#include <thread>
#include <utility>

namespace troupe {

void look_up_name(const std::shared_ptr<event_loop>& loop, const std::string& host, std::uint16_t port,
                  std::function<void(std::vector<socket_address> addresses, const status& why)> found) {
  const auto answer = [within = std::weak_ptr{loop}, found = std::move(found)](std::vector<socket_address> addresses,
                                                                               status why) {
    if (const auto running = within.lock())
      running->post([found, addresses = std::move(addresses), why = std::move(why)]() mutable {
        found(std::move(addresses), why);
      });
  };
  auto look_up = [answer, host, port] {
    std::vector<socket_address> addresses;
    status problem;
    try {
      addresses = resolve(host, port);
    } catch (...) {
      problem = status_of(std::current_exception());
    }
    answer(std::move(addresses), std::move(problem));
  };
  if (is_numeric_host(host)) return look_up();
  try {
    std::thread{std::move(look_up)}.detach();
  } catch (const std::system_error& failed) {
    answer({}, {status_code::resource_exhausted,
                fmt::format("no thread to resolve the host \"{}\": {}; raise the limit of threads (ulimit -u)", host,
                            failed.what())});
  }
}

}  // namespace troupe

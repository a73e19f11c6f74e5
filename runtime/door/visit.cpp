#include <troupe/runtime/door/visit.hpp>

#include <utility>

#include <sys/epoll.h>

namespace troupe {

// The first words go as soon as the connection takes any.
visit::visit(event_loop& loop, descriptor connection, std::unique_ptr<visitor_handshake> words, ended done)
    : talk_(std::move(words)),
      done_(std::move(done)),
      socket_(loop, std::move(connection), EPOLLOUT, [this](event_loop::events) { go_on(); }) {}

void visit::go_on() {
  status why;
  switch (talk_.go_on(socket_.get())) {
    case conversation::progress::waits:
      return socket_.expect(EPOLLIN);
    case conversation::progress::gone:
      why = {status_code::unavailable, "it closed the connection before it had said whether this process may enter"};
      break;
    case conversation::progress::over:
      why = talk_.side().result();
      break;
  }
  const auto done = done_;
  const auto host = talk_.side().other();
  auto connection = socket_.release();
  if (!why.ok()) connection.reset();
  done(std::move(connection), host, why);
}

}  // namespace troupe

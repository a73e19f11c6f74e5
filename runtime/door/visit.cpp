#include <troupe/runtime/door/visit.hpp>

#include <utility>

#include <sys/epoll.h>

namespace troupe {

visitor_words words_for(const door_wish& wanted, const peer_identity& self,
                        const std::shared_ptr<const cluster_secret>& secret,
                        const std::shared_ptr<const tls_identity>& tls) {
  return [=]() -> visitor_side {
    return {std::make_unique<visitor_handshake>(wanted, self, secret), tls ? tls->current() : nullptr};
  };
}

// The first words go as soon as the connection takes any.
visit::visit(event_loop& loop, descriptor connection, visitor_side words, ended done)
    : talk_(std::move(words.words), tls_session::side::visitor, std::move(words.tls)),
      done_(std::move(done)),
      socket_(loop, std::move(connection), EPOLLOUT, [this](event_loop::events) { go_on(); }) {}

void visit::go_on() {
  status why;
  auto host = talk_.side().other();
  switch (talk_.go_on(socket_.get())) {
    case conversation::progress::waits:
      return socket_.expect(EPOLLIN);
    case conversation::progress::gone:
      why = talk_.failure();
      if (why.ok())
        why = {status_code::unavailable, "it closed the connection before it had said whether this process may enter"};
      break;
    case conversation::progress::over:
      why = talk_.side().result();
      host = talk_.side().other();
      if (why.ok()) why = talk_.prove(host.who);
      break;
  }
  const auto done = done_;
  channel connection{socket_.release(), talk_.take_session()};
  if (!why.ok()) connection = {};
  done(std::move(connection), host, why);
}

}  // namespace troupe

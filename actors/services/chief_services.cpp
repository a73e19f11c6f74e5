#include <troupe/actors/offers/actor_interface.hpp>
#include <troupe/actors/services/chief_services.hpp>

#include <caf/actor_cast.hpp>

namespace troupe {

void offer_chief_services(address_book& book, const closure_desk_actor& closures, const event_bus_actor& events) {
  const auto offer = [&book]<class Actor>(const char* name, const Actor& actor) {
    book.offer(name, {caf::actor_cast<caf::strong_actor_ptr>(actor), interface_of<Actor>()});
  };
  offer(closure_desk_name, closures);
  offer(event_bus_name, events);
}

}  // namespace troupe

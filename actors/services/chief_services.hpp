// What a chief offers under names of troupe's own, for members to follow like actors of the application.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/offers/address_book.hpp>

#include <caf/typed_actor.hpp>

namespace troupe {

inline constexpr auto closure_desk_name = "troupe/closures";
inline constexpr auto event_bus_name = "troupe/events";

void offer_chief_services(address_book& book, const closure_desk_actor& closures, const event_bus_actor& events);

}  // namespace troupe

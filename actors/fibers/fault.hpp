// How a status travels through CAF: as a caf::error of category "troupe" whose code is the canonical status code and
// whose context is the whole status, chain included. CAF's own errors map to the nearest canonical code.
#pragma once

#include <troupe/device/base/error.hpp>

#include <caf/atom.hpp>
#include <caf/error.hpp>
#include <caf/message.hpp>

namespace troupe {

constexpr caf::atom_value fault_category = caf::atom("troupe");

/// The status as an answer of an actor; `failed` must not be ok.
caf::error make_error(const status& failed);

/// The status of any caf::error; `what` names what was asked of whom and becomes the message of mapped CAF errors.
status status_of(const caf::error& failed, std::string_view what = {});

/// Text for `actor_system_config::add_error_category`.
std::string render_fault(std::uint8_t code, caf::atom_value category, const caf::message& context);

}  // namespace troupe

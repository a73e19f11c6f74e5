// What a message between actors of the application's becomes on its way, where everything in a process is encoded, too.
#pragma once

#include <caf/actor_control_block.hpp>
#include <caf/message.hpp>

namespace troupe::detail {

/// The message as its receiver gets it: as it is, or while an `encoding_within_process` lives (values/wire.hpp) and the
/// receiver is of this process, what comes out of its bytes. @throws what CAF or the codec has against it
caf::message passed_message(caf::message what, const caf::strong_actor_ptr& to);

/// Sends a question, or the one who asks the reason why it could not be made into bytes.
void pass_question(const caf::strong_actor_ptr& self, caf::message_id sent, const caf::strong_actor_ptr& to,
                   caf::message question, caf::execution_unit* context);

}  // namespace troupe::detail

// What the error of a caller says whose limit is over.
#pragma once

#include <troupe/actors/fibers/time.hpp>
#include <troupe/actors/messages/interfaces.hpp>

#include <memory>
#include <string>

namespace troupe {

/// Why the closure, or any closure (null), has not ended: which there are, where, for what each waits, since when.
/// Workers have a quarter of a second to tell, or `waited` if that was less. The chief may be busy, or has to read
/// where functions are written from a slow disk: who waited long waits as long for it again, for 250 ms to 2 s more;
/// then the text says that why is unknown. Any thread or fiber. @throws cancelled_error when the fiber is cancelled.
std::string describe_outstanding(const coordinator_ptr& coordinator, const std::shared_ptr<closure>& only,
                                 duration waited);

}  // namespace troupe

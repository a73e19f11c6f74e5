// The end of a process that can't wait: a thread of it is in a closure that does not end, in a wait for input, or in a
// write that nobody reads, and holds what a flush or a line in the log needs.
#pragma once

#include <functional>

namespace troupe {

/// Does it in a thread of its own, and goes on when it is done or 100 ms have passed: what is left of it then goes on
/// beside, for as long as the process lives. So it may refer to nothing but what it holds. Never throws.
void do_without_waiting(std::function<void()> work);

/// Says the last words, writes out what is buffered, as far as 100 ms allow, and ends the process.
[[noreturn]] void end_process(int code, std::function<void()> last_words);

}  // namespace troupe

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/runtime/program/process_end.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

namespace troupe {

void do_without_waiting(std::function<void()> work) {
  constexpr auto patience = std::chrono::milliseconds{100};
  try {
    const auto done = std::make_shared<completion>();
    std::thread{[work = std::move(work), done] {
      work();
      done->set();
    }}.detach();
    done->block_for(patience);
  } catch (...) {
    // No thread can be had, and what is done here could block.
  }
}

void end_process(int code, std::function<void()> last_words) {
  do_without_waiting([last_words = std::move(last_words)] {
    last_words();
    std::fflush(nullptr);
  });
  std::_Exit(code);
}

}  // namespace troupe

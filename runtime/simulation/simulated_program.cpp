#include <troupe/actors/fibers/timers.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/runtime/simulation/simulated_program.hpp>

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <utility>

namespace troupe {

namespace {

/// Hosts one program.
struct program_state : fiber_environment {
  static constexpr const char* name = "program";
  explicit program_state(caf::event_based_actor* self) : clock(self) {}

  void begin(std::size_t stack_bytes) {
    fibers =
        std::make_shared<fiber_host>(clock, fiber_host::options{.stack_bytes = stack_bytes, .pooled_max = 0}, this);
  }

  std::shared_ptr<member_context> application() const override { return member; }

  std::shared_ptr<member_context> member;

  timers clock;
  std::shared_ptr<fiber_host> fibers;
};

}  // namespace

eventual<caf::ok_atom> start_program_in(simulated_process& process, std::function<void()> program,
                                        program_options options) {
  const auto content = std::make_shared<eventual<caf::ok_atom>::content>();
  // If its process ends before it begins.
  const std::shared_ptr<void> guard{nullptr, [content, name = process.name()](void*) {
                                      content->end({status_code::cancelled, name + " has ended"});
                                    }};
  const std::function<void()> guarded = [content, guard, program = std::move(program), failed = options.on_failure] {
    try {
      program();
      content->value = caf::ok_atom_v;
      content->end({});
    } catch (...) {
      const auto why = status_of(std::current_exception());
      content->end(why);
      if (failed) failed(why);
    }
  };
  // The actor ends with the program.
  const auto host =
      process.spawn([&process, guarded, member = std::move(options.application),
                     stack_bytes = options.stack_bytes](caf::stateful_actor<program_state>* self) -> caf::behavior {
        self->state.begin(stack_bytes);
        auto& fibers = *self->state.fibers;
        fibers.at_turn_end([self, &fibers] {
          if (fibers.active() == 0) self->quit();
        });
        process.keep_program(self->state.fibers);
        self->state.member = member;
        return {[self, &process, &fibers, guarded](submit_atom) {
          process.runs_programs() ? fibers.run(1, guarded) : self->quit();
        }};
      });
  caf::anon_send(host, submit_atom_v);
  return eventual<caf::ok_atom>{content};
}

}  // namespace troupe

#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/runtime/replicas/execution_context.hpp>
#include <troupe/runtime/replicas/strategy_state.hpp>

#include <utility>

namespace troupe {

namespace {

const fiber_local<std::vector<execution_context>> contexts;

}  // namespace

const execution_context& execution_context::current() {
  static const execution_context outside{context_kind::replica, strategy_state::default_strategy(), 0, nullptr};
  return contexts->empty() ? outside : contexts->back();
}

bool execution_context::entered() { return !contexts->empty(); }

context_scope::context_scope(execution_context entered) { contexts->push_back(std::move(entered)); }

context_scope::~context_scope() { contexts->pop_back(); }

std::string_view to_string(context_kind kind) {
  switch (kind) {
    case context_kind::cross_replica:
      return "cross-replica context";
    case context_kind::replica:
      return "replica context";
    case context_kind::update:
      return "update context";
  }
  return "unknown context";
}

}  // namespace troupe

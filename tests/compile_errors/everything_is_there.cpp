// compiles
//
// What an application with an actor system of its own, and one that computes, find in the one header; the base class of
// its config is CAF's and comes with CAF's header.
#include <troupe/troupe.hpp>

#include <caf/actor_system_config.hpp>

class own_config : public caf::actor_system_config {
 public:
  own_config() { troupe::add_troupe_types(*this); }
};

void element_wise(troupe::tensor& x, const troupe::tensor& y) { troupe::add_in_place(x, y); }

int step(int a, int b) { return a + b; }

void every_form_of_schedule(troupe::cluster_coordinator& coordinator) {
  troupe::schedule_options options{.worker = 1};
  auto sum = coordinator.schedule<step>(1, 2);
  sum = coordinator.schedule<step>(options, 1, sum);
  sum = coordinator.schedule<step>({.limit = std::chrono::seconds{1}}, 1, 2);
  sum = coordinator.schedule([](int a, const int& b) { return a + b; }, 1, std::size_t{2});
  coordinator.schedule([](std::size_t a, float b) { return static_cast<float>(a) * b; }, 3, 4);
  coordinator.schedule([](float a, bool b) { return b ? a : 0; }, 0.5, true);
  sum = coordinator.schedule(
      {.worker = 0}, [](const auto& a, const auto& b) { return a + b; }, 1, sum);
}

void every_form_of_a_dataset(troupe::cluster_coordinator& coordinator, troupe::system_config& config) {
  troupe::per_worker_dataset<troupe::tensor> rows = coordinator.create_per_worker_dataset(troupe::range(10).batch(2));
  rows = coordinator.create_per_worker_dataset([](int stop) { return troupe::range(stop).batch(2); }, 10);
  static_cast<void>(config);
}

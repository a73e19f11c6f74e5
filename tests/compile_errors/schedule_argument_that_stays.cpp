// expect: give it a member function serialize
#include <troupe/troupe.hpp>

class secret {
 public:
  explicit secret(int x) : x_(x) {}
  int x() const { return x_; }

 private:
  int x_;
};

void mistake(troupe::cluster_coordinator& coordinator) {
  coordinator.schedule([](const secret& x) { return x.x(); }, secret{1});
}

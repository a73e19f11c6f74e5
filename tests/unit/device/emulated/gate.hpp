// A kernel that keeps an emulated GPU busy until a test lets it go on.
#pragma once

#include <troupe/device/kernels/custom_kernel.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <future>
#include <string>
#include <utility>

namespace troupe {

/// Shut until it is opened, at the latest when it goes.
class gate {
 public:
  explicit gate(std::string device) : passed_(tensor::zeros(dtype::uint8, {1}, device)) {
    launch({.name = "gate",
            .on_host = [opened = opened_.get_future().share()](std::span<tensor>,
                                                               std::span<const tensor>) { opened.wait(); }},
           {&passed_});
  }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  ~gate() { open(); }

  void open() {
    if (!std::exchange(is_open_, true)) opened_.set_value();
  }

 private:
  std::promise<void> opened_;
  bool is_open_ = false;
  tensor passed_;
};

}  // namespace troupe

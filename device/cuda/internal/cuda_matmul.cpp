#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/lazy_library.hpp>
#include <troupe/device/cuda/internal/cuda_device_state.hpp>
#include <troupe/device/cuda/internal/cuda_kernels.hpp>

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <string_view>

#include <cublas_v2.h>

namespace troupe::cuda {

namespace {

// cublas_v2.h gives some functions other names by macros.
#define TROUPE_TEXT_OF(name) #name
#define TROUPE_SYMBOL_OF(name) TROUPE_TEXT_OF(name)

lazy_library library{"libcublas.so." TROUPE_CUBLAS_VERSION, TROUPE_CUBLAS_LIBRARY};
const lazy_function<decltype(cublasCreate)> cublas_create{library, TROUPE_SYMBOL_OF(cublasCreate)};
const lazy_function<decltype(cublasDestroy)> cublas_destroy{library, TROUPE_SYMBOL_OF(cublasDestroy)};
const lazy_function<decltype(cublasSetStream)> cublas_set_stream{library, TROUPE_SYMBOL_OF(cublasSetStream)};
const lazy_function<decltype(cublasSgemm)> cublas_sgemm{library, TROUPE_SYMBOL_OF(cublasSgemm)};
const lazy_function<decltype(cublasGetStatusString)> cublas_get_status_string{library, "cublasGetStatusString"};

void check_cublas(cublasStatus_t result, std::string_view call,
                  const source_location& place = source_location::current()) {
  if (result == CUBLAS_STATUS_SUCCESS) return;
  const auto code = result == CUBLAS_STATUS_ALLOC_FAILED ? status_code::resource_exhausted : status_code::internal;
  throw_status({code, fmt::format("{} failed: {}, at {}:{}", call, cublas_get_status_string(result),
                                  file_name_of(place), place.line())});
}

// cuBLAS's handle of a device, made on first use and kept to the end of the process. One thread at a time may use it.
class blas {
 public:
  static blas& on(device_state& gpu) {
    static std::mutex mutex;
    static auto& all = *new std::map<const device_state*, blas>;
    std::lock_guard lock{mutex};
    return all.try_emplace(&gpu, gpu).first->second;
  }

  explicit blas(device_state& gpu) {
    gpu.make_current();
    check_cublas(cublas_create(&handle_), "cublasCreate");
    check_cublas(cublas_set_stream(handle_, gpu.work().handle()), "cublasSetStream");
  }
  blas(const blas&) = delete;
  blas& operator=(const blas&) = delete;
  ~blas() { cublas_destroy(handle_); }

  template <class Function>
  void use(Function f) {
    std::lock_guard lock{mutex_};
    f(handle_);
  }

 private:
  std::mutex mutex_;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace

tensor matmul(const tensor& a, const tensor& b, transposition transposed) {
  const auto rows = a.get_shape()[transposed.of_a ? 1 : 0];
  const auto inner = a.get_shape()[transposed.of_a ? 0 : 1];
  const auto columns = b.get_shape()[transposed.of_b ? 0 : 1];
  auto result = tensor::uninitialised(dtype::float32, {rows, columns}, a.device());
  auto& gpu = state_of(a.device());
  gpu.make_current();
  blas::on(gpu).use([&](cublasHandle_t handle) {
    // cuBLAS counts column by column: what it sees are the transposed matrices, and c' = b' a'.
    const auto one = 1.0f;
    const auto zero = 0.0f;
    const auto operation = [](bool is_transposed) { return is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    const auto stride = [](const tensor& x) { return static_cast<int>(x.get_shape()[1]); };
    const auto elements = [](const tensor& x) { return reinterpret_cast<const float*>(x.data()); };
    check_cublas(
        cublas_sgemm(handle, operation(transposed.of_b), operation(transposed.of_a), static_cast<int>(columns),
                     static_cast<int>(rows), static_cast<int>(inner), &one, elements(b), stride(b), elements(a),
                     stride(a), &zero, reinterpret_cast<float*>(result.mutable_data()), stride(result)),
        "cublasSgemm");
  });
  return result;
}

}  // namespace troupe::cuda

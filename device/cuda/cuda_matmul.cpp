#include <troupe/device/base/error.hpp>
#include <troupe/device/base/internal/lazy_library.hpp>
#include <troupe/device/cuda/cuda_matmul.hpp>
#include <troupe/device/cuda/internal/cuda_device_state.hpp>
#include <troupe/device/tensor/internal/placement.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
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

struct matrix {
  std::int64_t rows;
  std::int64_t columns;
};

matrix matrix_of(std::string_view name, const tensor& x, bool transposed) {
  if (x.get_dtype() != dtype::float32 || x.rank() != 2) {
    throw invalid_argument_error{
        fmt::format("matmul: {} is {} of shape {}; expected a float32 matrix: cast or reshape it", name,
                    to_string(x.get_dtype()), x.get_shape().to_string())};
  }
  const auto rows = x.get_shape()[0];
  const auto columns = x.get_shape()[1];
  if (std::max(rows, columns) > std::numeric_limits<int>::max()) {
    throw invalid_argument_error{
        fmt::format("matmul: {} has shape {}; expected extents below 2^31: split it", name, x.get_shape().to_string())};
  }
  return transposed ? matrix{columns, rows} : matrix{rows, columns};
}

}  // namespace

tensor matmul(const tensor& a, const tensor& b, transposition transposed) {
  const auto left = matrix_of("a", a, transposed.of_a);
  const auto right = matrix_of("b", b, transposed.of_b);
  if (left.columns != right.rows) {
    throw invalid_argument_error{
        fmt::format("matmul: a of shape {}{} and b of shape {}{} do not fit: {} columns meet {} rows",
                    a.get_shape().to_string(), transposed.of_a ? " (transposed)" : "", b.get_shape().to_string(),
                    transposed.of_b ? " (transposed)" : "", left.columns, right.rows)};
  }
  if (!is_on_gpu("matmul", {&a, &b})) {
    throw failed_precondition_error{
        "matmul: the matrices are on the host; use copy_to(\"GPU:0\"), or Eigen (eigen.hpp)"};
  }
  const shape extents{left.rows, right.columns};
  if (extents.element_count() == 0 || left.columns == 0) return tensor::zeros(dtype::float32, extents, a.device());
  auto result = tensor::uninitialised(dtype::float32, extents, a.device());
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
        cublas_sgemm(handle, operation(transposed.of_b), operation(transposed.of_a), static_cast<int>(right.columns),
                     static_cast<int>(left.rows), static_cast<int>(left.columns), &one, elements(b), stride(b),
                     elements(a), stride(a), &zero, reinterpret_cast<float*>(result.mutable_data()), stride(result)),
        "cublasSgemm");
  });
  return result;
}

}  // namespace troupe::cuda

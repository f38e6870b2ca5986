// The device, its handle of cuBLASLt and the products that were planned on it.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>

#include "gpu/module.h"

namespace selfnorm::gpu {

// A sentence for selfnorm_cuda_error; caught at the C interface alone.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void check(cudaError_t status, const char* what);
void check(cublasStatus_t status, const char* what);

inline uint64_t bytes_of(int type) { return type == SELFNORM_F64 ? 8 : type == SELFNORM_F32 ? 4 : 2; }

// D (m x n) <- alpha op(A) op(B) + beta D, all column-major.
struct Product {
  int type, out_type;
  bool a_is_transposed, b_is_transposed;
  int64_t m, n, k;
  int64_t lda, ldb, ldd;
  uint64_t workspace;

  auto key() const {
    return std::tie(type, out_type, a_is_transposed, b_is_transposed, m, n, k, lda, ldb, ldd, workspace);
  }
  bool operator<(const Product& other) const { return key() < other.key(); }
};

struct Operands {
  const void *a, *b;
  void* d;
  const void *alpha, *beta;  // in device memory: double where the product is, else float
  void* workspace;
};

struct PlannedProduct {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};
};

}  // namespace selfnorm::gpu

struct selfnorm_cuda_context {
  int device = 0;
  cudaDeviceProp properties = {};
  cublasLtHandle_t handle = nullptr;
  std::map<selfnorm::gpu::Product, selfnorm::gpu::PlannedProduct> products;
  std::mutex mutex;
  cudaStream_t copies = nullptr;
  void* staging = nullptr;   // pinned
  void* incoming = nullptr;  // on the device, as large
  double* units = nullptr;   // on the device: 0 and 1
  cudaEvent_t checked = nullptr;
  int64_t* status = nullptr;  // pinned: the first wrong target's row and value
  std::string error;

  void run(const selfnorm::gpu::Product& product, const selfnorm::gpu::Operands& operands, cudaStream_t stream);
};

namespace selfnorm::gpu {

inline constexpr uint64_t kStagingBytes = 64u << 20;
inline constexpr uint64_t kProductWorkspace = 32u << 20;

// Runs `work` on the context's device; 0, or 1 with its sentence kept.
template <class Work>
int guarded(selfnorm_cuda_context* context, const Work& work) {
  try {
    check(cudaSetDevice(context->device), "the device cannot be chosen");
    work();
    return 0;
  } catch (const std::exception& failure) {
    context->error = failure.what();
    cudaGetLastError();
    return 1;
  }
}

}  // namespace selfnorm::gpu

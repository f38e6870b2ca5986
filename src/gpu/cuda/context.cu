#include "gpu/cuda/context.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdio>
#include <cstring>

namespace selfnorm::gpu {
namespace {

constexpr int kThreads = 256;

cudaDataType_t data_type(int type) {
  return type == SELFNORM_F64   ? CUDA_R_64F
         : type == SELFNORM_F32 ? CUDA_R_32F
         : type == SELFNORM_F16 ? CUDA_R_16F
                                : CUDA_R_16BF;
}

unsigned blocks_of(uint64_t count) { return static_cast<unsigned>((count + kThreads - 1) / kThreads); }

template <class To, class From>
__global__ void convert(To* to, const From* from, uint64_t count) {
  const uint64_t i = blockIdx.x * uint64_t{kThreads} + threadIdx.x;
  if (i < count) to[i] = static_cast<To>(static_cast<float>(from[i]));
}

template <class T>
__global__ void scale_in_place(T* x, uint64_t count, const float* factor) {
  const float by = *factor;
  if (by == 1) return;
  for (uint64_t i = blockIdx.x * uint64_t{kThreads} + threadIdx.x; i < count; i += uint64_t{gridDim.x} * kThreads)
    x[i] = static_cast<T>(by * static_cast<float>(x[i]));
}

__global__ void split(const float* states, int64_t count, __nv_bfloat16* parts, int part_count) {
  const int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (i >= count) return;
  float rest = states[i];
  for (int part = 0; part < part_count; ++part) {
    const __nv_bfloat16 head = __float2bfloat16_rn(rest);
    parts[part * count + i] = head;
    rest -= __bfloat162float(head);
  }
}

// The candidate to take: cuBLASLt's first, but on Hopper, for many tiles of output to each multiprocessor, the first whose
// two groups of warps take turns (custom option below 4 of its algorithm 66), so that one writes while the other
// multiplies. Measured on an H200: scores 5 to 16%, gradients of weights 3 to 14% less time. A rule rather than a race of the
// candidates, so that runs have the same bits.
int preferred(const cublasLtMatmulHeuristicResult_t* found, int count, int sm_major) {
  constexpr int kHopper = 66, kTurns = 4;
  constexpr float kManyTiles = 5;
  if (sm_major != 9 || found[0].wavesCount < kManyTiles) return 0;
  for (int i = 0; i < count; ++i) {
    const auto value = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
      int out = -1;
      size_t written = 0;
      cublasLtMatmulAlgoConfigGetAttribute(&found[i].algo, attribute, &out, sizeof(out), &written);
      return out;
    };
    const int option = value(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
    if (found[i].state == CUBLAS_STATUS_SUCCESS && value(CUBLASLT_ALGO_CONFIG_ID) == kHopper && option >= 0 &&
        option < kTurns && value(CUBLASLT_ALGO_CONFIG_SPLITK_NUM) <= 1)
      return i;
  }
  return 0;
}

constexpr int kCandidates = 8;

// A row of (x - shift, y - shift_y, 1) for each row of x.
__global__ void shifted_rows(const float* x, const double* y, const double* shift, int64_t count, int64_t columns, double* out) {
  const int64_t p = columns + 2;
  for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < count * p; i += int64_t{gridDim.x} * kThreads) {
    const int64_t row = i / p, j = i % p;
    out[i] = j < columns ? static_cast<double>(x[row * columns + j]) - shift[j] : j == columns ? y[row] - shift[j] : 1.0;
  }
}

// A warp a row.
__global__ void row_adagrad(float* x, float* square, const float* gradient, int64_t rows, int64_t columns, float rate, float keep) {
  const int64_t row = (blockIdx.x * int64_t{kThreads} + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  const float* const g = gradient + row * columns;
  float sum = 0;
  for (int64_t j = lane; j < columns; j += 32) sum = fmaf(g[j], g[j], sum);
  for (int half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(~0u, sum, half);
  const float total = square[row] + sum / static_cast<float>(columns), own_rate = rate / sqrtf(total);
  __syncwarp();
  if (lane == 0) square[row] = total;
  for (int64_t j = lane; j < columns; j += 32) x[row * columns + j] = keep * x[row * columns + j] - own_rate * g[j];
}

PlannedProduct planned(cublasLtHandle_t handle, const Product& p, int sm_major) {
  PlannedProduct out;
  const bool is_double = p.type == SELFNORM_F64;
  check(cublasLtMatmulDescCreate(&out.operation, is_double ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                 is_double ? CUDA_R_64F : CUDA_R_32F),
        "a product");
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    check(cublasLtMatmulDescSetAttribute(out.operation, attribute, &value, sizeof(value)), "a product");
  };
  const cublasOperation_t a = p.a_is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t b = p.b_is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  set(CUBLASLT_MATMUL_DESC_TRANSA, a);
  set(CUBLASLT_MATMUL_DESC_TRANSB, b);
  set(CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE);
  const auto layout = [](cublasLtMatrixLayout_t* made, int type, int64_t rows, int64_t columns, int64_t stride) {
    check(cublasLtMatrixLayoutCreate(made, data_type(type), static_cast<uint64_t>(rows),
                                     static_cast<uint64_t>(columns), stride),
          "a matrix");
  };
  layout(&out.a, p.type, p.a_is_transposed ? p.k : p.m, p.a_is_transposed ? p.m : p.k, p.lda);
  layout(&out.b, p.type, p.b_is_transposed ? p.n : p.k, p.b_is_transposed ? p.k : p.n, p.ldb);
  layout(&out.d, p.out_type, p.m, p.n, p.ldd);
  cublasLtMatmulPreference_t preference;
  check(cublasLtMatmulPreferenceCreate(&preference), "a product");
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &p.workspace,
                                       sizeof(p.workspace));
  // Partial sums are added in workspace or not at all: no atomics.
  const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions,
                                       sizeof(reductions));
  cublasLtMatmulHeuristicResult_t found[kCandidates] = {};
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle, out.operation, out.a, out.b, out.d, out.d,
                                                               preference, kCandidates, found, &count);
  cublasLtMatmulPreferenceDestroy(preference);
  check(status, "cuBLASLt has no algorithm for a product of this shape");
  if (count == 0) throw Failure("cuBLASLt has no algorithm for a product of this shape");
  out.algorithm = found[preferred(found, count, sm_major)].algo;
  return out;
}

template <class To, class From>
void launch_convert(void* to, const void* from, uint64_t count, cudaStream_t stream) {
  convert<<<blocks_of(count), kThreads, 0, stream>>>(static_cast<To*>(to), static_cast<const From*>(from), count);
  check(cudaGetLastError(), "a conversion");
}

void need_room(uint64_t bytes) {
  size_t free_bytes = 0, total = 0;
  check(cudaMemGetInfo(&free_bytes, &total), "the memory of the device");
  if (bytes <= free_bytes) return;
  char text[256];
  std::snprintf(text, sizeof(text),
                "the GPU has %.2f GiB free of %.2f GiB, but %.2f GiB more are needed; give less memory to scores, "
                "use fewer rows at once, or end what else runs there",
                static_cast<double>(free_bytes) / (1u << 30), static_cast<double>(total) / (1u << 30),
                static_cast<double>(bytes) / (1u << 30));
  throw Failure(text);
}

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) throw Failure(std::string("CUDA: ") + what + ": " + cudaGetErrorString(status));
}
void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) throw Failure(std::string("cuBLASLt: ") + what + ": " + cublasLtGetStatusString(status));
}

}  // namespace selfnorm::gpu

using namespace selfnorm::gpu;

void selfnorm_cuda_context::run(const Product& product, const Operands& x, cudaStream_t stream) {
  const PlannedProduct* plan = nullptr;
  {
    const std::lock_guard lock(mutex);
    if (handle == nullptr) check(cublasLtCreate(&handle), "its handle");  // energies need none
    auto found = products.find(product);
    if (found == products.end()) found = products.emplace(product, planned(handle, product, properties.major)).first;
    plan = &found->second;
  }
  check(cublasLtMatmul(handle, plan->operation, x.alpha, x.a, plan->a, x.b, plan->b, x.beta, x.d, plan->d, x.d, plan->d,
                       &plan->algorithm, x.workspace, product.workspace, stream),
        "a product");
}

extern "C" {

int selfnorm_cuda_abi(void) { return SELFNORM_CUDA_ABI; }

int selfnorm_cuda_devices(void) {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

selfnorm_cuda_context* selfnorm_cuda_open(int device, char* error, uint64_t error_bytes) {
  auto* out = new selfnorm_cuda_context;
  out->device = device;
  const int failed = guarded(out, [&] {
    check(cudaGetDeviceProperties(&out->properties, device), "the device's properties");
    if (out->properties.major < 8)
      throw Failure(std::string("the GPU ") + out->properties.name + " has compute capability " +
                    std::to_string(out->properties.major) + "." + std::to_string(out->properties.minor) +
                    "; expected 8.0 or later");
    check(cudaStreamCreate(&out->copies), "a stream");  // ordered with the default stream, on which copies and kernels are
    check(cudaEventCreateWithFlags(&out->checked, cudaEventDisableTiming), "an event");
    check(cudaMallocHost(&out->status, 2 * sizeof(int64_t)), "pinned memory");
    const double units[2] = {0, 1};
    check(cudaMalloc(&out->units, sizeof(units)), "memory");
    check(cudaMemcpy(out->units, units, sizeof(units), cudaMemcpyHostToDevice), "a copy");
  });
  if (failed == 0) return out;
  std::snprintf(error, error_bytes, "%s", out->error.c_str());
  selfnorm_cuda_close(out);
  return nullptr;
}

void selfnorm_cuda_close(selfnorm_cuda_context* context) {
  if (context == nullptr) return;
  cudaSetDevice(context->device);
  for (auto& [key, plan] : context->products) {
    cublasLtMatmulDescDestroy(plan.operation);
    for (cublasLtMatrixLayout_t layout : {plan.a, plan.b, plan.d}) cublasLtMatrixLayoutDestroy(layout);
  }
  if (context->handle != nullptr) cublasLtDestroy(context->handle);
  if (context->copies != nullptr) cudaStreamDestroy(context->copies);
  if (context->checked != nullptr) cudaEventDestroy(context->checked);
  if (context->staging != nullptr) cudaFreeHost(context->staging);
  if (context->incoming != nullptr) cudaFree(context->incoming);
  if (context->units != nullptr) cudaFree(context->units);
  if (context->status != nullptr) cudaFreeHost(context->status);
  delete context;
}

const char* selfnorm_cuda_error(const selfnorm_cuda_context* context) { return context->error.c_str(); }
const char* selfnorm_cuda_name(const selfnorm_cuda_context* context) { return context->properties.name; }

int selfnorm_cuda_memory(selfnorm_cuda_context* context, uint64_t* free_bytes, uint64_t* total_bytes) {
  return guarded(context, [&] {
    size_t available = 0, total = 0;
    check(cudaMemGetInfo(&available, &total), "the memory of the device");
    *free_bytes = available;
    *total_bytes = total;
  });
}

int selfnorm_cuda_allocate(selfnorm_cuda_context* context, uint64_t bytes, void** out) {
  return guarded(context, [&] {
    need_room(bytes);
    check(cudaMalloc(out, bytes), "memory");
  });
}

int selfnorm_cuda_free(selfnorm_cuda_context* context, void* memory) {
  return guarded(context, [&] { check(cudaFree(memory), "memory"); });
}

int selfnorm_cuda_upload(selfnorm_cuda_context* context, void* to, int type, const float* from, uint64_t count) {
  return guarded(context, [&] {
    if (context->staging == nullptr) {
      check(cudaMallocHost(&context->staging, kStagingBytes), "pinned memory");
      check(cudaMalloc(&context->incoming, kStagingBytes), "memory");
    }
    // Two halves: one is filled while the other travels.
    constexpr uint64_t kHalf = kStagingBytes / 2 / sizeof(float);
    for (uint64_t first = 0, turn = 0; first < count; first += kHalf, ++turn) {
      const uint64_t some = count - first < kHalf ? count - first : kHalf;
      float* const host = static_cast<float*>(context->staging) + turn % 2 * kHalf;
      float* const device = static_cast<float*>(context->incoming) + turn % 2 * kHalf;
      if (turn >= 2) check(cudaEventSynchronize(context->checked), "a copy");
      std::memcpy(host, from + first, some * sizeof(float));
      if (turn >= 1) check(cudaEventRecord(context->checked, context->copies), "a copy");
      void* const place = static_cast<char*>(to) + first * bytes_of(type);
      void* const landing = type == SELFNORM_F32 ? place : device;
      check(cudaMemcpyAsync(landing, host, some * sizeof(float), cudaMemcpyHostToDevice, context->copies), "a copy");
      if (type == SELFNORM_F16) launch_convert<__half, float>(place, device, some, context->copies);
      if (type == SELFNORM_BF16) launch_convert<__nv_bfloat16, float>(place, device, some, context->copies);
    }
    check(cudaStreamSynchronize(context->copies), "a copy");
  });
}

int selfnorm_cuda_download(selfnorm_cuda_context* context, float* to, const void* from, int type, uint64_t count) {
  return guarded(context, [&] {
    check(cudaDeviceSynchronize(), "the work before a copy");
    void* floats = nullptr;
    if (type != SELFNORM_F32) {
      need_room(count * sizeof(float));
      check(cudaMalloc(&floats, count * sizeof(float)), "memory");
      if (type == SELFNORM_F16) launch_convert<float, __half>(floats, from, count, context->copies);
      if (type == SELFNORM_BF16) launch_convert<float, __nv_bfloat16>(floats, from, count, context->copies);
      from = floats;
    }
    const cudaError_t status =
        cudaMemcpyAsync(to, from, count * sizeof(float), cudaMemcpyDeviceToHost, context->copies);
    cudaStreamSynchronize(context->copies);
    cudaFree(floats);
    check(status, "a copy");
  });
}

int selfnorm_cuda_to_host(selfnorm_cuda_context* context, void* to, const void* from, uint64_t bytes) {
  return guarded(context, [&] {
    check(cudaDeviceSynchronize(), "the work before a copy");
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "a copy");
  });
}

int selfnorm_cuda_to_device(selfnorm_cuda_context* context, void* to, const void* from, uint64_t bytes) {
  return guarded(context, [&] { check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "a copy"); });
}

int selfnorm_cuda_wait(selfnorm_cuda_context* context) {
  return guarded(context, [&] { check(cudaDeviceSynchronize(), "the work of the GPU"); });
}

int selfnorm_cuda_scale(selfnorm_cuda_context* context, void* x, int type, uint64_t count, const float* factor,
                        void* stream) {
  return guarded(context, [&] {
    const unsigned blocks = static_cast<unsigned>(context->properties.multiProcessorCount) * 8;
    const auto on = static_cast<cudaStream_t>(stream);
    if (type == SELFNORM_F32) scale_in_place<<<blocks, kThreads, 0, on>>>(static_cast<float*>(x), count, factor);
    if (type == SELFNORM_F16) scale_in_place<<<blocks, kThreads, 0, on>>>(static_cast<__half*>(x), count, factor);
    if (type == SELFNORM_BF16) scale_in_place<<<blocks, kThreads, 0, on>>>(static_cast<__nv_bfloat16*>(x), count, factor);
    check(cudaGetLastError(), "a scaling");
  });
}

int selfnorm_split_states(selfnorm_cuda_context* context, const float* states, int64_t count, void* parts,
                          int32_t part_count, void* stream) {
  return guarded(context, [&] {
    split<<<blocks_of(static_cast<uint64_t>(count)), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
        states, count, static_cast<__nv_bfloat16*>(parts), part_count);
    check(cudaGetLastError(), "the parts of states");
  });
}

int selfnorm_row_adagrad(selfnorm_cuda_context* context, float* x, float* square, const float* gradient, int64_t rows,
                         int64_t columns, double rate, double keep, void* stream) {
  return guarded(context, [&] {
    row_adagrad<<<blocks_of(static_cast<uint64_t>(rows) * 32), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
        x, square, gradient, rows, columns, static_cast<float>(rate), static_cast<float>(keep));
    check(cudaGetLastError(), "a step of AdaGrad");
  });
}

int selfnorm_scatter_add(selfnorm_cuda_context* context, const float* x, const double* y, const double* shift, int64_t count,
                         int64_t columns, double* room, double* sums, int is_first, void* workspace) {
  return guarded(context, [&] {
    const unsigned blocks = static_cast<unsigned>(context->properties.multiProcessorCount) * 8;
    shifted_rows<<<blocks, kThreads>>>(x, y, shift, count, columns, room);
    check(cudaGetLastError(), "the rows of a scatter");
    const int64_t p = columns + 2;
    context->run({SELFNORM_F64, SELFNORM_F64, false, true, p, p, count, p, p, p, kProductWorkspace},
                 {room, room, sums, context->units + 1, is_first != 0 ? context->units : context->units + 1, workspace}, nullptr);
  });
}

}  // extern "C"

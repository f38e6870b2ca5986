// What the tests on a GPU share: device memory, and comparisons with the referee. Without GoogleTest, for
// they are compiled on machines that have the compiler and the driver alone.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gpu/module.h"

namespace selfnorm::gpu {

inline selfnorm_cuda_context* context = nullptr;
inline int failures = 0, comparisons = 0;

inline void must(int status) {
  if (status == 0) return;
  std::printf("FAILED: %s\n", selfnorm_cuda_error(context));
  std::exit(1);
}

// Device memory with the life of a scope, poisoned with NaN.
class Device {
 public:
  explicit Device(uint64_t bytes) {
    must(selfnorm_cuda_allocate(context, bytes + 16, &memory_));
    const std::vector<unsigned char> poison(bytes, 0xff);
    must(selfnorm_cuda_to_device(context, memory_, poison.data(), bytes));
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() { selfnorm_cuda_free(context, memory_); }
  void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
};
using Owned = std::unique_ptr<Device>;

inline Owned typed(std::vector<float>& values, int type) {  // rounds the host's values to what the device has
  if (values.empty()) return nullptr;
  auto out = std::make_unique<Device>(values.size() * 4);
  must(selfnorm_cuda_upload(context, out->get(), type, values.data(), values.size()));
  must(selfnorm_cuda_download(context, values.data(), out->get(), type, values.size()));
  return out;
}
inline Owned integers(const std::vector<int64_t>& values) {
  if (values.empty()) return nullptr;
  auto out = std::make_unique<Device>(values.size() * 8);
  must(selfnorm_cuda_to_device(context, out->get(), values.data(), values.size() * 8));
  return out;
}
template <class T>
T* at(const Owned& memory) {
  return memory ? static_cast<T*>(memory->get()) : nullptr;
}

// ||got - wanted|| / ||wanted|| (or the norm of `got` where nothing is wanted); NaN never passes.
inline void compare(const std::string& name, const char* what, const std::vector<float>& got,
                    const std::vector<double>& wanted, double tolerance, double floor = 1e-9) {
  double square = 0, norm = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isinf(wanted[i]) && static_cast<double>(got[i]) == wanted[i]) continue;
    square += (got[i] - wanted[i]) * (got[i] - wanted[i]);
    norm += wanted[i] * wanted[i];
  }
  const double error = std::sqrt(square) / std::max(std::sqrt(norm), floor);
  const bool is_good = error <= tolerance;
  ++comparisons;
  failures += is_good ? 0 : 1;
  if (!is_good)
    std::printf("FAILED  %-58s %-14s relative error %.2e, at most %.0e\n", name.c_str(), what, error,
                tolerance);
}
template <class T>
Owned copied(const std::vector<T>& values) {
  if (values.empty()) return nullptr;
  auto out = std::make_unique<Device>(values.size() * sizeof(T));
  must(selfnorm_cuda_to_device(context, out->get(), values.data(), values.size() * sizeof(T)));
  return out;
}
template <class T>
std::vector<T> found(const Owned& memory, size_t count) {
  std::vector<T> out(count);
  must(selfnorm_cuda_to_host(context, out.data(), memory->get(), count * sizeof(T)));
  return out;
}

inline bool open_first() {
  char error[512] = "";
  context = selfnorm_cuda_open(0, error, sizeof(error));
  std::printf("%s\n", context == nullptr ? error : selfnorm_cuda_name(context));
  return context != nullptr;
}

// Milliseconds of one of many runs of `work`, which is asynchronous.
template <class Work>
double milliseconds(int runs, const Work& work) {
  for (int i = 0; i < 3; ++i) work();
  must(selfnorm_cuda_wait(context));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < runs; ++i) work();
  must(selfnorm_cuda_wait(context));
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() / runs;
}

}  // namespace selfnorm::gpu

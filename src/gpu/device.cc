#include "gpu/device.h"

#include <dlfcn.h>

#include <charconv>
#include <mutex>
#include <vector>

#include "base/failure.h"
#include "base/module_path.h"

namespace selfnorm {
namespace {

constexpr const char* kCudaVariable = "SELFNORM_CUDA_MODULE";
constexpr const char* kCudaModule = "libselfnorm_cuda.so";

// Loaded once and never given back; throws Error saying why it cannot be.
const GpuModule& cuda_module() {
  static const GpuModule loaded = [] {
    const std::string path = module_path(kCudaVariable, kCudaModule);
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
      throw_error(
          "GPUs need {}, which cannot be loaded ({}); build it with 'make gpu' where CUDA's nvcc is, or set "
          "{} to its path",
          kCudaModule, dlerror(), kCudaVariable);
    GpuModule out;
#define SELFNORM_FIND(name)                                              \
  out.name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name)); \
  if (out.name == nullptr) throw_error("{} has no {}: build it anew", path, #name);
    SELFNORM_CUDA_FUNCTIONS(SELFNORM_FIND)
#undef SELFNORM_FIND
    if (out.selfnorm_cuda_abi() != SELFNORM_CUDA_ABI)
      throw_error("{} has the interface {}, expected {}: build it anew", path, out.selfnorm_cuda_abi(),
                  SELFNORM_CUDA_ABI);
    return out;
  }();
  return loaded;
}

struct DeviceState {
  std::mutex mutex;
  bool is_required = false;
  bool is_allowed = true;
  int number = 0;
  bool is_open = false;
  std::unique_ptr<GpuDevice> device;
  std::vector<std::unique_ptr<GpuDevice>> earlier;  // memory on them may outlive the choice
  std::string used = "cpu";
};

DeviceState& device_state() {
  static DeviceState& state = *new DeviceState;  // never given back: the end of the process is quicker
  return state;
}

}  // namespace

GpuDevice::GpuDevice(const GpuModule& module, int number) : module_(module) {
  const int count = module.selfnorm_cuda_devices();
  if (number >= count)
    throw_error("`device cuda:{}`: found {} GPUs; expected a number below that, or `device cpu`", number,
                count);
  char error[512] = "";
  context_ = module.selfnorm_cuda_open(number, error, sizeof(error));
  if (context_ == nullptr) throw Error(error);
}

GpuDevice::~GpuDevice() { module_.selfnorm_cuda_close(context_); }

std::string GpuDevice::name() const { return module_.selfnorm_cuda_name(context_); }

uint64_t GpuDevice::free_bytes() const {
  uint64_t available = 0, total = 0;
  must(module_.selfnorm_cuda_memory(context_, &available, &total));
  return available;
}

void GpuDevice::must(int status) const {
  if (status != 0) throw Error(module_.selfnorm_cuda_error(context_));
}

GpuMemory::GpuMemory(const GpuDevice& device, uint64_t bytes) : device_(device) {
  device.must(device.module().selfnorm_cuda_allocate(device.context(), bytes, &memory_));
}
GpuMemory::~GpuMemory() { device_.module().selfnorm_cuda_free(device_.context(), memory_); }

void choose_device(const std::string& word) {
  constexpr std::string_view kPrefix = "cuda:";
  int number = 0;
  const bool is_numbered = word.starts_with(kPrefix);
  if (is_numbered) {
    const char *begin = word.data() + kPrefix.size(), *end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(begin, end, number);
    if (error != std::errc() || rest != end || number < 0) number = -1;
  }
  if ((word != "auto" && word != "cpu" && word != "cuda" && !is_numbered) || number < 0)
    throw_error("`device '{}'`: expected auto, cpu, cuda or cuda:N, as in cuda:0", word);
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  if (state.device) state.earlier.push_back(std::move(state.device));
  state.is_open = false;
  state.is_allowed = word != "cpu";
  state.is_required = word != "cpu" && word != "auto";
  state.number = number;
}

DeviceChoice chosen_device() {
  DeviceState& state = device_state();
  const std::lock_guard lock(state.mutex);
  if (state.is_allowed && !state.is_open) {
    try {
      state.device = std::make_unique<GpuDevice>(cuda_module(), state.number);
    } catch (const Error&) {
      if (state.is_required) throw;
    }
    state.is_open = true;
  }
  return {state.device.get(), state.is_required};
}

void refuse_device(const std::string& what) {
  if (device_state().is_required) throw_error("{}; use `device cpu` or auto", what);
}

std::string used_device() {
  const std::lock_guard lock(device_state().mutex);
  return device_state().used;
}

void note_use(const GpuDevice& device) {
  const std::lock_guard lock(device_state().mutex);
  device_state().used = device.name();
}

}  // namespace selfnorm

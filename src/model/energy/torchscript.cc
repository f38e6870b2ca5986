#include "model/energy/torchscript.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "base/failure.h"
#include "model/energy/record_reader.h"
#include "model/stored_record.h"

namespace selfnorm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "SELFNORM_TORCH_MODULE";
constexpr const char* kModule = "libselfnorm_torch.so";

// In the order of torchscript.h; the last one is left to the system's search path.
std::vector<std::string> candidates() {
  if (const char* path = std::getenv(kVariable); path != nullptr && *path != '\0') return {path};
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/self/exe", none).parent_path();
  std::vector<std::string> out;
  for (const fs::path& folder :
       {program, program / SELFNORM_LIBRARY_FROM_PROGRAM, fs::path(SELFNORM_LIBRARY)}) {
    if (fs::exists(folder / kModule, none)) out.push_back(folder / kModule);
  }
  out.emplace_back(kModule);
  return out;
}

// The energy of a module that is not loaded (EmbeddedCode::seal): its record, and nothing that would run it.
class SealedEnergy final : public Energy {
 public:
  SealedEnergy(EnergyRecord record, uint32_t dimension) : record_(std::move(record)), dimension_(dimension) {}

  uint32_t dimension() const override { return dimension_; }
  std::span<float> parameters() override { return {}; }
  std::span<const float> parameters() const override { return {}; }
  EnergyRecord record() const override { return record_; }

  std::unique_ptr<EnergyPass> make_pass() const override { refuse(); }
  void score(const Points&, std::span<double>) const override { refuse(); }
  void score_gradient(const Points&, std::span<double>, std::span<float>) const override { refuse(); }
  void directional(const Points&, const Points&, std::span<double>, std::span<double>) const override {
    refuse();
  }
  void directional_backward(const Points&, const Points&, std::span<const double>, std::span<const double>,
                            std::span<float>) const override {
    refuse();
  }

 private:
  [[noreturn]] static void refuse() { throw Bug("a sealed energy was evaluated"); }

  EnergyRecord record_;
  uint32_t dimension_;
};

std::unique_ptr<Energy> energy_of(std::string_view bytes, uint32_t dimension, const std::string& name,
                                  EmbeddedCode code) {
  auto* make =
      reinterpret_cast<TorchFactory*>(torch_symbol(SELFNORM_TEXT(SELFNORM_TORCH_FACTORY), name, bytes, code));
  return std::unique_ptr<Energy>(make(bytes.data(), bytes.size(), dimension, name.c_str()));
}

}  // namespace

void* torch_symbol(const char* symbol, const std::string& name, std::string_view bytes, EmbeddedCode code) {
  require_consent(code, name, bytes.size());
  const std::string path = candidates().front();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw_error(
        "{}: TorchScript modules need libtorch and {}, which cannot be loaded ({}); install libtorch "
        "(Debian: libtorch-dev), build selfnorm with it and install it, or set {} to the path of {}",
        name, kModule, dlerror(), kVariable, kModule);
  }
  void* found = dlsym(library, symbol);
  if (found == nullptr) {
    throw_error("{}: {} is of another version of selfnorm; build and install both together", name, path);
  }
  return found;
}

bool has_torchscript() { return SELFNORM_HAS_TORCH; }

std::unique_ptr<Energy> load_torchscript(const std::string& path, uint32_t dimension, EmbeddedCode code) {
  return with_plain_errors([&] {
    const runtime::MappedFile file(path);
    const auto* bytes = reinterpret_cast<const char*>(file.bytes().data());
    return energy_of({bytes, file.bytes().size()}, dimension, path, code);
  });
}

std::unique_ptr<Energy> make_torchscript(const EnergyRecord& record, EmbeddedCode code) {
  const uint32_t dimension =
      RecordReader(record, "TorchScript energy", "torchscript").whole_number("dimension", 1, UINT32_MAX);
  if (code == EmbeddedCode::seal) return std::make_unique<SealedEnergy>(record, dimension);
  return energy_of(record.module, dimension, "TorchScript energy", code);
}

}  // namespace selfnorm

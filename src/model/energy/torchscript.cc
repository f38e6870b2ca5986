#include "model/energy/torchscript.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "model/energy/sealed_energy.h"
#include "model/energy/torchscript_factory.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/mapped_file.h"
#include "selfnorm/runtime/shortened.h"

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
    throw Error(
        fmt::format("{}: TorchScript modules need libtorch and {}, which cannot be loaded ({}); install "
                    "libtorch (Debian: "
                    "libtorch-dev), build selfnorm with it and install it, or set {} to the path of {}",
                    name, kModule, dlerror(), kVariable, kModule));
  }
  void* found = dlsym(library, symbol);
  if (found == nullptr) {
    throw Error(
        fmt::format("{}: {} is of another version of selfnorm; build and install both together", name, path));
  }
  return found;
}

bool has_torchscript() { return SELFNORM_HAS_TORCH; }

std::unique_ptr<Energy> load_torchscript(const std::string& path, uint32_t dimension, EmbeddedCode code) {
  try {
    const runtime::MappedFile file(path);
    const auto* bytes = reinterpret_cast<const char*>(file.bytes().data());
    return energy_of({bytes, file.bytes().size()}, dimension, path, code);
  } catch (const runtime::IoError& error) {
    throw Error(error.what());
  }
}

std::unique_ptr<Energy> make_torchscript(const EnergyRecord& record, EmbeddedCode code) {
  const auto settings = nlohmann::json::parse(record.settings, nullptr, false);
  const auto dimension = settings.is_object() ? settings.find("dimension") : settings.end();
  if (!settings.is_object() || dimension == settings.end() || !dimension->is_number_unsigned() ||
      *dimension < 1u || *dimension > UINT32_MAX) {
    throw Error(fmt::format("settings of a TorchScript energy are {}, expected its dimension",
                            runtime::shortened(record.settings)));
  }
  if (code == EmbeddedCode::seal) return std::make_unique<SealedEnergy>(record, dimension->get<uint32_t>());
  return energy_of(record.module, *dimension, "TorchScript energy", code);
}

}  // namespace selfnorm

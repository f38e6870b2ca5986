// Any bytes as the file of a density: refused with an Error, or read, scored (equal rows alike, the proposal
// without NaN) and written back to a file that is read to the same bytes.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "memory_file.h"
#include "model/energy/density_file.h"
#include "model/stored_record.h"
#include "selfnorm/error.h"

namespace {

using namespace selfnorm;

constexpr uint32_t kMostColumns = 4096;  // scored; larger ones are only read and written

std::string saved(const DensityModel& model) {
  static const std::string out = "/dev/shm/selfnorm-fuzz-density-" + std::to_string(getpid());
  save_density(model, out);
  std::ostringstream bytes;
  bytes << std::ifstream(out, std::ios::binary).rdbuf();
  std::filesystem::remove(out);
  return bytes.str();
}

void score(const DensityModel& model) {
  const uint32_t d = model.dimension();
  if (d > kMostColumns) return;
  const std::vector<float> values(size_t{2} * d, 0.5f);
  const Points x{values.data(), 2, d};
  std::vector<float> u(x.size());
  std::vector<double> s(2), log_q(2);
  model.standardisation.apply(x, u);
  model.energy->score(x, s);
  SELFNORM_CHECK(s[0] == s[1] || (std::isnan(s[0]) && std::isnan(s[1])));
  model.proposal->log_prob(x, log_q);
  SELFNORM_CHECK(!std::isnan(log_q[0]) && log_q[0] == log_q[1]);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  return setenv("SELFNORM_TORCH_MODULE", "/nowhere", 1);  // modules are libtorch's to read
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  DensityModel model;
  try {
    model = load_density(file.path());
  } catch (const selfnorm::Error&) {
    return 0;
  }
  SELFNORM_CHECK(identity_of(file.path()).family == "density");
  score(model);
  const std::string once = saved(model);
  const MemoryFile written(reinterpret_cast<const uint8_t*>(once.data()), once.size());
  SELFNORM_CHECK(saved(load_density(written.path())) == once);
  return 0;
}

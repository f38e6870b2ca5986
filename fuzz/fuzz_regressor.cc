// Any bytes as the file of a regressor: refused with an Error, or read, scored (equal inputs alike; an Error
// where finite parameters make numbers that are not) and written back to a file that is read to the same
// bytes.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "memory_file.h"
#include "model/regressor/regressor.h"
#include "model/stored_record.h"
#include "selfnorm/error.h"

namespace {

using namespace selfnorm;

std::string saved(const Regressor& model) {
  static const std::string out = "/dev/shm/selfnorm-fuzz-regressor-" + std::to_string(getpid());
  save_regressor(model, out);
  std::ostringstream bytes;
  bytes << std::ifstream(out, std::ios::binary).rdbuf();
  std::filesystem::remove(out);
  return bytes.str();
}

void score(const Regressor& model, size_t member) {
  const uint32_t d = model.dimension();
  const std::vector<float> number(size_t{2} * model.encoder.numeric_inputs(), 0.5f);
  const std::vector<uint32_t> level(2 * model.encoder.levels().size(), 0), row = {0, 1};
  const InputRows x{{number.data(), 2, model.encoder.numeric_inputs()},
                    level.data(),
                    static_cast<uint32_t>(model.encoder.levels().size())};
  std::vector<float> y;
  for (uint32_t i = 0; i < 2 * d; ++i) {
    const double lower = model.mixture.lower.empty() ? -1 : model.mixture.lower[i % d];
    y.push_back(static_cast<float>(std::isfinite(lower) ? lower + 0.5 : 0));
  }
  std::vector<double> s(2);
  const auto scores = prepare_scores(model, member, x);
  scores->score({y.data(), 2, d}, row, s);
  SELFNORM_CHECK(s[0] == s[1] || (std::isnan(s[0]) && std::isnan(s[1])));
  SELFNORM_CHECK(!scores->places(0).empty());
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  return setenv("SELFNORM_TORCH_MODULE", "/nowhere", 1);  // modules are libtorch's to read
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  Regressor model;
  try {
    model = load_regressor(file.path());
  } catch (const selfnorm::Error&) {
    return 0;
  }
  SELFNORM_CHECK(identity_of(file.path()).family == "regressor");
  try {
    for (size_t m = 0; m < model.members.size(); ++m) score(model, m);
  } catch (const selfnorm::Error&) {
  }
  const std::string once = saved(model);
  const MemoryFile written(reinterpret_cast<const uint8_t*>(once.data()), once.size());
  SELFNORM_CHECK(saved(load_regressor(written.path())) == once);
  return 0;
}

// Any bytes as the file of a CRF: the C runtime and the library refuse them or use them, and what the
// library reads the runtime opens, and labels with numbers that are probabilities; written back, it is read
// to the same bytes.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "memory_file.h"
#include "model/crf/crf_model.h"
#include "model/stored_record.h"
#include "selfnorm.h"
#include "selfnorm/error.h"

namespace {

using namespace selfnorm;

constexpr size_t kPositions = 3, kLargestWorkspace = 1 << 22;

void expect(bool good) {
  if (!good) std::abort();
}

// A sentence with the first and the last attribute, with values or without.
void label(const selfnorm_model* model, const float* value) {
  const size_t bytes = selfnorm_chain_workspace(model, kPositions), classes = selfnorm_classes(model);
  if (bytes == 0 || bytes > kLargestWorkspace) return;
  const uint32_t unigrams = selfnorm_attributes(model), bigrams = selfnorm_pair_attributes(model);
  const size_t begin[] = {0, 0, 1, 2};
  const uint32_t unigram[] = {0, unigrams - 1}, bigram[] = {bigrams - 1, 0};
  selfnorm_sentence x = {kPositions, {begin, unigram, value}, {begin, bigram, value}};
  if (unigrams == 0) x.unigram = {};
  if (bigrams == 0) x.bigram = {};
  std::vector<char> memory(bytes);
  std::vector<double> p(kPositions * classes);
  uint32_t labels[kPositions];
  for (const int kind : {SELFNORM_RAW, SELFNORM_EXACT, SELFNORM_AMORTISED}) {
    double tagged = 0, scored = 0;
    if (selfnorm_tag(model, &x, memory.data(), bytes, kind, labels, &tagged) != SELFNORM_OK) continue;
    for (const uint32_t k : labels) expect(k < classes);
    expect(selfnorm_score_labelling(model, &x, labels, kind, memory.data(), bytes, &scored) == SELFNORM_OK);
    expect(std::isfinite(tagged) && scored == tagged);
    expect(kind != SELFNORM_EXACT || tagged <= 0);
  }
  if (selfnorm_marginals(model, &x, memory.data(), bytes, p.data()) != SELFNORM_OK) return;
  for (size_t t = 0; t < kPositions; ++t) {
    double sum = 0;
    for (size_t k = 0; k < classes; ++k) sum += p[t * classes + k];
    expect(std::fabs(sum - 1) < 1e-6);
  }
}

void use(const selfnorm_model* model) {
  const float value[] = {0.5f, -2}, large[] = {1e5f, -3e5f};
  label(model, nullptr);
  label(model, value);
  label(model, large);
  size_t length = 0;
  uint32_t number = 0;
  double out = 0;
  for (uint32_t k = 0; k < 4; ++k) selfnorm_label(model, k, &length);
  selfnorm_class_of_label(model, "L1", 2, &number);
  if (selfnorm_attribute_id(model, "u1", 2, &number) == SELFNORM_OK)
    expect(number < selfnorm_attributes(model));
  if (selfnorm_pair_attribute_id(model, "b0", 2, &number) == SELFNORM_OK)
    expect(number < selfnorm_pair_attributes(model));
  selfnorm_score_dense(model, value, 2, &number, 1, SELFNORM_RAW, &out);
}

std::string saved(const CrfModel& model) {
  static const std::string out = "/dev/shm/selfnorm-fuzz-chain-" + std::to_string(getpid());
  save_crf(model, out);
  std::ostringstream bytes;
  bytes << std::ifstream(out, std::ios::binary).rdbuf();
  std::filesystem::remove(out);
  return bytes.str();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint64_t> memory(size / 8 + 1);
  if (size > 0) std::memcpy(memory.data(), data, size);
  selfnorm_model* model = nullptr;
  const bool is_open = selfnorm_open_memory(memory.data(), size, &model) == SELFNORM_OK;
  if (is_open) use(model);
  selfnorm_close(model);
  const MemoryFile file(data, size);
  CrfModel read;
  try {
    read = load_crf(file.path());
  } catch (const Error&) {
    return 0;
  }
  expect(is_open && identity_of(file.path()).family == "chain");
  const std::string once = saved(read);
  const MemoryFile written(reinterpret_cast<const uint8_t*>(once.data()), once.size());
  expect(saved(load_crf(written.path())) == once);
  return 0;
}

// Any bytes as a head: refused with an Error, or read, rounded and written back to the same model with the
// same other arrays.
#include <filesystem>

#include "data/array/array_file.h"
#include "memory_file.h"
#include "model/head/head_file.h"
#include "selfnorm/error.h"

namespace {

using namespace selfnorm;

void check_others(const ArrayFile& before, const ArrayFile& after, const HeadNames& names) {
  for (const ArrayEntry& entry : before.entries()) {
    if (entry.name == names.weight || entry.name == names.bias || entry.name.starts_with("selfnorm."))
      continue;
    const ArrayEntry* kept = after.find(entry.name);
    SELFNORM_CHECK(kept && kept->problem.empty() == entry.problem.empty());
    SELFNORM_CHECK(kept->type == entry.type && kept->shape == entry.shape);
  }
}

void round_trip(const std::string& path) {
  Head head = load_head(path, {});
  const ModelFile& model = head.model;
  SELFNORM_CHECK(model.classes > 0 && model.features > 0);
  SELFNORM_CHECK(model.weight.size() == uint64_t{model.classes} * model.features);
  SELFNORM_CHECK(model.bias.size() == model.classes);
  const ModelFile before = model;
  round_to_kind(head);
  SELFNORM_CHECK(model == before);
  static const std::string out = "/dev/shm/selfnorm-fuzz-head-" + std::to_string(getpid());
  save_head(head, out);
  const Head again = load_head(out, head.names);
  SELFNORM_CHECK(again.model == model && again.kind == head.kind);
  check_others(ArrayFile(path), ArrayFile(out), head.names);
  std::filesystem::remove(out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  try {
    round_trip(file.path());
  } catch (const selfnorm::Error&) {
  }
  return 0;
}

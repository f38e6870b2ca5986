// Any bytes as a file of states: refused with an Error, or blocks and single rows that agree. The first byte
// chooses among the options.
#include <cmath>
#include <vector>

#include "data/example_source.h"
#include "memory_file.h"
#include "selfnorm/error.h"

namespace {

using namespace selfnorm;

void check(const ExampleSource& source, uint32_t classes) {
  const uint64_t n = source.examples(), end = std::min<uint64_t>(n, 64);
  SELFNORM_CHECK(n > 0 && source.columns() > 0);
  const Dataset block = source.block(0, end);
  SELFNORM_CHECK(block.features.dense.values.size() == end * source.columns());
  for (const float value : block.features.dense.values) SELFNORM_CHECK(std::isfinite(value));
  for (const uint32_t target : block.target) SELFNORM_CHECK((target < classes) == source.has_targets());
  const Dataset last = source.gather(std::vector<uint64_t>{end - 1});
  SELFNORM_CHECK(last.target[0] == block.target.back());
  for (uint32_t j = 0; j < source.columns(); ++j)
    SELFNORM_CHECK(last.features.dense.values[j] == block.features.dense.row(end - 1)[j]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const MemoryFile file(data + 1, size - 1);
  const Schema schema{{"0", "1", "a"}, (data[0] & 2u) != 0 ? 0u : 4u, {}, {}};
  StatesOptions options;
  options.classes = 3;
  options.schema = (data[0] & 1u) != 0 ? &schema : nullptr;
  is_array_file(file.path());
  try {
    check(*open_states(file.path(), options), 3);
  } catch (const Error&) {
  }
  return 0;
}

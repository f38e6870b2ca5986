// Any bytes as a file of points: refused with an Error, or finite rows of the columns asked for. The first
// byte chooses among the options.
#include <cmath>
#include <vector>

#include "data/points/point_source.h"
#include "memory_file.h"
#include "selfnorm/error.h"

namespace {

using namespace selfnorm;

constexpr Format kFormats[] = {Format::automatic, Format::csv, Format::tsv, Format::svmlight};

void check(const PointSource& source, const PointOptions& options) {
  const uint32_t d = source.columns();
  SELFNORM_CHECK(source.rows() > 0 && d > 0 && (options.columns == 0 || d == options.columns));
  SELFNORM_CHECK(source.names().empty() || source.names().size() == d);
  std::vector<float> last(d), first(2 * size_t{d});
  source.read(std::vector<uint64_t>{source.rows() - 1}, last);
  source.read(std::vector<uint64_t>{source.rows() - 1, 0}, first);
  for (const float value : first) SELFNORM_CHECK(std::isfinite(value));
  for (uint32_t j = 0; j < d; ++j) SELFNORM_CHECK(first[j] == last[j]);
  SELFNORM_CHECK(source.fingerprint() == source.fingerprint());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const MemoryFile file(data + 1, size - 1);
  PointOptions options;
  options.format = kFormats[data[0] & 3u];
  if ((data[0] & 4u) != 0) options.drop = {"0"};
  if ((data[0] & 8u) != 0) options.names = {"b", "a"};
  if ((data[0] & 8u) != 0) options.columns = 2;
  try {
    check(*open_points(file.path(), options), options);
  } catch (const Error&) {
  }
  return 0;
}

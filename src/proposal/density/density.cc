#include "proposal/density/density.h"

#include <cmath>

#include "base/failure.h"
#include "math/process/shared_loop.h"

namespace selfnorm {
namespace {

constexpr size_t kBlock = 256;

// Points are 32-bit floats; squares of products of two such numbers are still finite.
constexpr double kLargestRecorded = 1e50;

}  // namespace

void Density::log_prob_gradient(const Points&, std::span<double>, std::span<double>) const {
  throw Bug("a density of levels or counts has no derivatives in x");
}

void Density::directional(const Points&, const Points&, std::span<double>, std::span<double>) const {
  throw Bug("a density of levels or counts has no derivatives in x");
}

void sample_density(const Density& q, uint64_t seed, std::span<float> rows, std::span<double> log_q) {
  const size_t d = q.dimension(), n = rows.size() / d;
  SELFNORM_CHECK(rows.size() == n * d && (log_q.empty() || log_q.size() == n));
  const auto draw_block = [&](size_t begin, size_t end) {
    const std::span<float> own = rows.subspan(begin * d, (end - begin) * d);
    RandomStream random(seed, begin / kBlock);
    q.sample(random, own);
    if (log_q.empty()) return;
    q.log_prob({own.data(), end - begin, q.dimension()}, log_q.subspan(begin, end - begin));
  };
  shared_ranges(n, kBlock, draw_block, owned(rows, d), owned(log_q));
}

void density_log_prob(const Density& q, const Points& x, std::span<double> out) {
  SELFNORM_CHECK(x.columns == q.dimension() && out.size() == x.rows);
  const auto evaluate_block = [&](size_t begin, size_t end) {
    q.log_prob(x.slice(begin, end), out.subspan(begin, end - begin));
  };
  shared_ranges(x.rows, kBlock, evaluate_block, owned(out));
}

const std::vector<double>& record_values(const DensityRecord& record, const std::string& name, size_t size) {
  const auto place = record.values.find(name);
  if (place == record.values.end())
    throw_error("the density '{}' has no {}; its file is damaged", record.kind, name);
  const std::vector<double>& values = place->second;
  if (values.empty() || (size > 0 && values.size() != size))
    throw_error("the density '{}' has {} numbers in {}; expected {}; its file is damaged", record.kind,
                values.size(), name, size > 0 ? std::to_string(size) : "at least one");
  for (const double v : values)
    if (!(std::abs(v) <= kLargestRecorded))
      throw_error("the density '{}' has {} in {}; expected numbers up to {}; its file is damaged",
                  record.kind, v, name, kLargestRecorded);
  return values;
}

}  // namespace selfnorm

#include "selfnorm/data/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "selfnorm/base/error.h"
#include "selfnorm/base/memory.h"
#include "selfnorm/math/parallel.h"
#include "selfnorm/math/random.h"

namespace selfnorm {
namespace {

// Streams of one seed: 0 for the parameters, 1 + i for row i.
std::vector<float> draw_truth(const GenerateOptions& o) {
  RandomStream random(o.seed, 0);
  std::vector<float> truth(uint64_t{o.classes} * o.features);
  for (float& eta : truth) eta = static_cast<float>(o.temperature * random.normal());
  return truth;
}

// Positions of successes in a Bernoulli sequence: gaps are geometric, floor(log U / log(1 - p)).
std::vector<uint32_t> draw_row(const GenerateOptions& o, RandomStream& random) {
  std::vector<uint32_t> columns{0};
  double log_miss = std::log1p(-o.density);
  for (double j = 1; o.density > 0; j += 1) {
    j += o.density < 1 ? std::floor(std::log1p(-random.uniform()) / log_miss) : 0;
    if (j >= o.features) break;
    columns.push_back(static_cast<uint32_t>(j));
  }
  return columns;
}

// argmax_k of s_k + Gumbel noise is a draw from softmax(s).
uint32_t draw_class(const GenerateOptions& o, const std::vector<float>& truth,
                    const std::vector<uint32_t>& columns, RandomStream& random) {
  uint32_t best = 0;
  double best_score = -INFINITY;
  for (uint32_t k = 0; k < o.classes; ++k) {
    double score = -std::log(-std::log1p(-random.uniform()));
    for (uint32_t j : columns) score += double{truth[uint64_t{k} * o.features + j]};
    if (score > best_score) best_score = score, best = k;
  }
  return best;
}

}  // namespace

void GenerateOptions::validate() const {
  if (rows < 1 || features < 1 || classes < 2)
    throw Error(fmt::format("{} rows, {} features, {} classes: expected at least 1, 1 and 2", rows, features,
                            classes));
  if (features == 0xFFFFFFFFu) throw Error("too many features: expected at most 2^32 - 2");
  if (!(density >= 0 && density <= 1)) throw Error(fmt::format("density {}: expected 0 to 1", density));
  if (!(temperature >= 0 && std::isfinite(temperature)))
    throw Error(fmt::format("temperature {}: expected a finite number of at least 0", temperature));
}

GeneratedData generate(const GenerateOptions& options) {
  options.validate();
  const double truth = 4.0 * options.classes * options.features;
  const double rows = static_cast<double>(options.rows) * (40 + 12 * options.density * options.features);
  require_memory(
      truth + rows,
      fmt::format("{} rows and {} classes x {} features", options.rows, options.classes, options.features),
      "ask for fewer, or a smaller density");
  GeneratedData out;
  out.truth = draw_truth(options);
  std::vector<std::vector<uint32_t>> row(options.rows);
  out.data.target.resize(options.rows);
  parallel_ranges(options.rows, 64, [&](size_t begin, size_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      RandomStream random(options.seed, 1 + i);
      row[i] = draw_row(options, random);
      out.data.target[i] = draw_class(options, out.truth, row[i], random);
    }
  });
  SparseMatrix& x = out.data.features.sparse;
  x.columns = options.features;
  for (const auto& columns : row) {
    x.column.insert(x.column.end(), columns.begin(), columns.end());
    x.begin.push_back(x.column.size());
  }
  x.value.assign(x.column.size(), 1.0f);
  for (uint32_t k = 0; k < options.classes; ++k) out.data.labels.push_back(std::to_string(k));
  return out;
}

}  // namespace selfnorm

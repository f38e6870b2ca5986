#include "family/classifier/normalize/ladder_drift.h"

#include <algorithm>
#include <cmath>

#include "family/classifier/normalize/ladder_fit.h"
#include "math/parallel.h"
#include "math/special_functions.h"
#include "normalizer/ladder/cluster_masses.h"
#include "normalizer/output_stream.h"
#include "selfnorm/runtime/scorer.h"

namespace selfnorm {

std::vector<RungDrift> ladder_drift(const ModelFile& model, const ExampleSource& inputs) {
  const runtime::ModelLayout layout = layout_of(model);
  const runtime::Scorer scorer(layout);
  std::vector<RungDrift> out;
  std::vector<size_t> place;
  for (size_t r = 0; r < layout.ladder.rungs.size(); ++r) {
    if (!std::isfinite(layout.ladder.rungs[r].eps)) continue;
    RungDrift drift;
    static_cast<Rung&>(drift) = layout.ladder.rungs[r];
    out.push_back(std::move(drift));
    place.push_back(r);
  }
  if (out.empty()) return out;
  const uint64_t block = block_size(inputs);
  for (uint64_t begin = 0; begin < inputs.examples(); begin += block) {
    const Dataset data = inputs.block(begin, std::min(inputs.examples(), begin + block));
    const Features& x = data.features;
    const std::vector<double> exact = ExactSums(model, x.is_sparse).log_z(x);
    for (size_t r = 0; r < out.size(); ++r) {
      std::vector<uint8_t> beyond(x.rows());
      parallel_ranges(x.rows(), 16, [&](size_t first, size_t last) {
        for (size_t i = first; i < last; ++i) {
          runtime::Approximation a;
          beyond[i] = scorer.log_normalizer(query_of(x, i), layout.ladder.rungs[place[r]], &a) &&
                              std::abs(a.log_z - exact[i]) > out[r].eps
                          ? 1
                          : 0;
        }
      });
      out[r].inputs += x.rows();
      out[r].exceeded += static_cast<uint64_t>(std::count(beyond.begin(), beyond.end(), 1));
    }
  }
  const auto rungs = static_cast<double>(out.size());
  for (RungDrift& drift : out) {
    const double k = static_cast<double>(drift.exceeded), n = static_cast<double>(drift.inputs);
    if (drift.exceeded > 0)
      drift.rho_least = beta_upper_quantile(1 - (1 - drift.conf) / rungs, k, n - k + 1);  // Clopper-Pearson
  }
  return out;
}

}  // namespace selfnorm

#include "family/classifier/normalize/ladder_drift.h"

#include <algorithm>
#include <cmath>

#include "family/classifier/normalize/ladder_fit.h"
#include "math/parallel.h"
#include "normalizer/ladder/cluster_masses.h"
#include "normalizer/output_stream.h"
#include "selfnorm/runtime/scorer.h"

namespace selfnorm {

std::vector<RungDrift> ladder_drift(const ModelFile& model, const ExampleSource& inputs) {
  const runtime::ModelLayout layout = layout_of(model);
  const runtime::Scorer scorer(layout);
  const auto& rungs = layout.ladder.rungs;
  std::vector<RungDrift> out = certified_rungs({rungs.begin(), rungs.end()});
  std::vector<size_t> place;
  for (const RungDrift& rung : out) place.push_back(layout.ladder.find(rung.name));
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
  judge_drift(out);
  return out;
}

}  // namespace selfnorm

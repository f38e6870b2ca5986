#include "normalizer/crf/decode.h"

#include <algorithm>

#include "normalizer/crf/viterbi_table.h"

namespace selfnorm {

template <class Real>
Labelling viterbi(const BasicCrfScores<Real>& scores) {
  const ViterbiTable table(scores);
  Labelling best{std::vector<uint32_t>(scores.length), 0};
  if (scores.length == 0) return best;
  uint64_t t = scores.length - 1;
  const double* last = table.delta(t);
  auto label = static_cast<uint32_t>(std::max_element(last, last + scores.labels) - last);
  best.score = last[label];
  for (; t > 0; --t) {
    best.labels[t] = label;
    label = static_cast<uint32_t>(table.from(t)[label]);
  }
  best.labels[0] = label;
  return best;
}

template <class Real>
Labelling posterior_decoding(const BasicCrfScores<Real>& scores, const BasicLattice<Real>& lattice) {
  Labelling best;
  for (uint64_t t = 0; t < scores.length; ++t) {
    const std::span<const Real> p = lattice.marginals().subspan(t * scores.labels, scores.labels);
    best.labels.push_back(static_cast<uint32_t>(std::max_element(p.begin(), p.end()) - p.begin()));
  }
  best.score = crf_score<Real>(scores, best.labels);
  return best;
}

template <class Real>
Labelling sample_labelling(const BasicCrfScores<Real>& scores, const BasicLattice<Real>& lattice,
                           RandomStream& random) {
  Labelling draw{std::vector<uint32_t>(scores.length), 0};
  std::vector<double> weights(scores.labels);
  uint32_t next = 0;
  for (uint64_t t = scores.length; t-- > 0;) {
    lattice.prefix_weights(scores, t, next, weights);
    double total = 0;
    for (const double w : weights) total += w;
    // the first label whose sum of weights is beyond a uniform share of the total; it has a weight of its own
    const double share = random.uniform() * total;
    double sum = 0;
    for (uint32_t k = 0; k < scores.labels && sum <= share; ++k) {
      sum += weights[k];
      if (weights[k] > 0) next = k;
    }
    draw.labels[t] = next;
  }
  draw.score = crf_score<Real>(scores, draw.labels);
  return draw;
}

template Labelling viterbi(const BasicCrfScores<float>&);
template Labelling viterbi(const BasicCrfScores<double>&);
template Labelling posterior_decoding(const BasicCrfScores<float>&, const BasicLattice<float>&);
template Labelling posterior_decoding(const BasicCrfScores<double>&, const BasicLattice<double>&);
template Labelling sample_labelling(const BasicCrfScores<float>&, const BasicLattice<float>&, RandomStream&);
template Labelling sample_labelling(const BasicCrfScores<double>&, const BasicLattice<double>&,
                                    RandomStream&);

}  // namespace selfnorm

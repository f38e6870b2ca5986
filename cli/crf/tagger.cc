#include "crf/tagger.h"

#include "family/crf/crf_evaluation.h"
#include "math/random.h"

namespace selfnorm::cli {

TaggedSentence Tagger::operator()(ReadSentence&& read, uint64_t number) {
  const CrfScores scores = scorer_(read.data, 0);
  const bool needs_marginals = given_.marginals || given_.all_marginals;
  const bool is_posterior = given_.decode == "posterior", is_sample = given_.decode == "sample";
  if (needs_marginals || is_posterior || is_sample || given_.score == "exact")
    lattice_.forward(scores, factors_);
  if (needs_marginals || is_posterior) lattice_.backward(scores);
  TaggedSentence out{std::move(read.text), {}, {}, {}};
  if (is_posterior)
    out.labellings.push_back(posterior_decoding<float>(scores, lattice_));
  else if (is_sample)
    draw(scores, number, out.labellings);
  else if (given_.n_best > 1)
    out.labellings = n_best<float>(scores, given_.n_best);
  else
    out.labellings.push_back(viterbi<float>(scores));
  if (given_.score != "none") {
    const bool is_exact = given_.score == "exact";
    const double b = is_exact ? 0 : crf_normalizer(model_.normalizer, read.data, 0);
    for (const Labelling& y : out.labellings)
      out.log_prob.push_back(is_exact ? lattice_.log_prob(scores, y.labels) : y.score - b);
  }
  if (needs_marginals) out.marginals.assign(lattice_.marginals().begin(), lattice_.marginals().end());
  return out;
}

void Tagger::draw(const CrfScores& scores, uint64_t number, std::vector<Labelling>& out) const {
  RandomStream random(given_.seed, number);
  while (out.size() < given_.n_best) out.push_back(sample_labelling<float>(scores, lattice_, random));
}

}  // namespace selfnorm::cli

#include "experiments/sequences/scoring.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "math/random.h"
#include "normalizer/crf/crf_scorer.h"
#include "normalizer/crf/lattice.h"

namespace selfnorm {
namespace {

constexpr double kAttributeScale = 0.3162;  // sqrt(0.1)
constexpr uint64_t kWeightStream = 0x7E1, kSentenceStream = 0x7E2;

template <class Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double upper_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

RandomCrf random_crf(const RandomCrfOptions& options) {
  RandomCrf out;
  out.shape = {options.labels, options.attributes, 0, true};
  out.theta.resize(out.shape.size());
  RandomStream weights(options.seed, kWeightStream), random(options.seed, kSentenceStream);
  for (size_t i = 0; i < out.shape.bias(); ++i)
    out.theta[i] =
        static_cast<float>(weights.normal() * (i < out.shape.transition() ? kAttributeScale : 1.0));
  const uint64_t sentences = (options.tokens + options.length - 1) / options.length;
  const uint64_t stratum = options.attributes / options.at_token;
  for (uint64_t t = 0; t < sentences * options.length; ++t) {
    for (uint64_t a = 0; a < options.at_token; ++a)
      out.data.unigram.attribute.push_back(static_cast<uint32_t>(a * stratum + random.below(stratum)));
    out.data.unigram.begin.push_back(out.data.unigram.attribute.size());
    out.data.label.push_back(static_cast<uint32_t>(random.below(options.labels)));
  }
  for (uint64_t i = 1; i <= sentences; ++i) out.data.sentence_begin.push_back(i * options.length);
  return out;
}

ScoringTimes scoring_times(const RandomCrf& crf, size_t repeats) {
  const Sequences& data = crf.data;
  CrfScorer scorer(crf.shape, crf.theta);
  Lattice lattice;
  const PairFactors<float> factors = transition_factors<float>(crf.shape, crf.theta);
  ScoringTimes out;
  std::vector<double> raw, scores, exact;
  const auto each = [&](std::vector<double>& seconds, const auto& score) {
    seconds.push_back(seconds_of([&] {
                        for (uint64_t i = 0; i < data.sentences(); ++i) score(i);
                      }) /
                      static_cast<double>(data.sentences()));
  };
  for (size_t repeat = 0; repeat < repeats; ++repeat) {
    out.raw_sum = out.exact_sum = 0;
    each(raw, [&](uint64_t i) { out.raw_sum += scorer.target_score(data, i); });
    each(scores, [&](uint64_t i) { scorer(data, i); });
    each(exact, [&](uint64_t i) {
      const CrfScores all = scorer(data, i);
      const auto labels = std::span(data.label).subspan(data.sentence_begin[i], all.length);
      lattice.forward(all, factors);
      out.exact_sum += lattice.log_prob(all, labels);
    });
  }
  out.raw = upper_median(std::move(raw));
  out.scores = upper_median(std::move(scores));
  out.exact = upper_median(std::move(exact));
  return out;
}

}  // namespace selfnorm

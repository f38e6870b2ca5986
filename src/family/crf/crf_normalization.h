// A CRF that exists made self-normalised: by its gauge, which costs nothing (crf_gauge.h), and by a b(x)
// that is subtracted from its scores.
#pragma once

#include <functional>

#include "family/crf/crf_gauge.h"

namespace selfnorm {

struct NormalizedCrf {
  CrfModel model;   // the same p(y|x)
  LinearFit gauge;  // that was subtracted: meant for other sentences
  LinearFit plain;  // least squares on the same sentences: its residual variance is V*
};

// Told how many sentences have their log-normalizer.
using CrfProgress = std::function<void(uint64_t)>;

// By A of these sentences; labels are not needed. A b(x) that the model has is left out. Throws Error for
// data that do not fit the model.
NormalizedCrf normalize_crf(const CrfModel& model, const Sequences& data, const CrfProgress& progress = {});

// b(x) of the model becomes the regression of A on the unigram attributes of these sentences and T, whatever
// it was; parameters, p(y|x) and A stay as they are. The rms of A - b on these sentences.
double amortise_crf(const Sequences& data, CrfModel& model, const CrfProgress& progress = {});

// How far two CRFs with the same attributes and labels differ on sentences, by exact log-probabilities.
struct CrfDifference {
  double probability = 0;      // largest |p(y_t = k|x) - q(y_t = k|x)|
  double log_probability = 0;  // largest |log p(y|x) - log q(y|x)|, y the best labelling by p and, where they
                               // are there, the labels of the sentence
};
CrfDifference crf_difference(const CrfModel& p, const CrfModel& q, const Sequences& data);

}  // namespace selfnorm

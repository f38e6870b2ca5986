// The free directions of a CRF (theory.md 1.5). Adding the same number for every label to W[a,.], to bias,
// to M[.,.] or to P[a,.,.] adds to the score of every labelling the count of a in the sentence, T, T - 1, or
// the count of a: a function of the sentence. p(y|x) stays as it is and A moves by that function. So the
// regression of A on (1, attribute counts, T) gives V*, its residual variance, and, subtracted, the
// equivalent CRF with that variance.
#pragma once

#include <functional>
#include <span>

#include "audit/least_squares.h"
#include "data/dataset.h"
#include "data/sentences/sequences.h"
#include "model/crf/crf_model.h"

namespace selfnorm {

// Which attributes the regression has: those of a gauge, or those of b(x) (CrfNormalizer).
enum class CrfFeatures { all, unigrams };

// A sparse row a sentence: summed values of its unigram, then of its bigram attributes (all), then T.
Dataset sentence_features(const Sequences& data, const CrfShape& shape, CrfFeatures features);

// fit: V* on these sentences. prediction: the fit that is meant for other sentences (audit/gauge.h).
enum class CrfFitPurpose { fit, prediction };

// Of A, or A - b, one a sentence.
LinearFit crf_gauge(const Sequences& data, const CrfShape& shape, std::span<const double> log_z,
                    CrfFeatures features, CrfFitPurpose purpose);

// The equivalent CRF whose log-normalizer is A(x) - fit(x); its b is 0. The intercept i is free too, as i = i
// T - i (T - 1), where there are transitions; without them it stays in b. The fit is of all features.
void apply_crf_gauge(const LinearFit& fit, CrfModel& model);

// b(x) = fit(x), of a fit of A with unigrams alone; parameters stay as they are.
CrfNormalizer amortised_crf(const LinearFit& fit);

// A CRF that exists made self-normalised: by its gauge, which costs nothing (crf_gauge.h), and by a b(x)
// that is subtracted from its scores.
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

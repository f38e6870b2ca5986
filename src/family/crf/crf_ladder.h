// The ladder of log-normalizers of a CRF (theory.md 5), a sentence an input:
//     raw           a = 0
//     level         a = c_0 + c_1 T, least squares of A on (1, T)
//     amortised     a = b(x), of a model that has one
//     nearest-STOP  with many labels: the forward recursion over the labels that are near at each position
//                   (normalizer/crf/lattice.h), the others together by their usual shares
//     exact         the forward recursion
// Costs are numbers that an attribute adds, none or one; of nearest ones, which add one a label as exact
// does, the labels that are summed for each label of a position, of which exact sums L.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audit/rung_certificate.h"
#include "data/sentences/sequences.h"
#include "model/crf/crf_model.h"
#include "normalizer/crf/crf_scorer.h"
#include "normalizer/crf/lattice.h"
#include "selfnorm/runtime/ladder_layout.h"

namespace selfnorm {

// From which on labels that are far are worth telling from near ones; pairs are shared by all positions.
inline constexpr uint32_t kNearestLabels = 100;

struct CrfLadder {
  double per_sentence = 0, per_token = 0;  // of the level
  std::vector<double> share;         // w of the labels that are not near; empty: there are no nearest rungs
  std::vector<runtime::Rung> rungs;  // without exact; empty: nothing was measured
  uint64_t enough = 0;               // so many sentences would certify something; 0 of one that was read
};

// By its name; one that the ladder does not have, as raw scores of a model that was not measured, has that
// name alone.
runtime::Rung crf_rung(const CrfLadder& ladder, const std::string& name);

// a(x) of a rung, sentence after sentence: keeps room, and a reference to the model.
class CrfRungValue {
 public:
  // Throws Bug for a rung that the model or the ladder does not have.
  CrfRungValue(const CrfModel& model, const CrfLadder& ladder, const runtime::Rung& rung);
  double operator()(const Sequences& data, uint64_t sentence);
  // Of the last sentence, in the units of Rung::cost, a position.
  double cost() const { return cost_; }

 private:
  const CrfModel& model_;
  runtime::Rung rung_;
  double per_sentence_, per_token_, cost_;
  CrfScorer scorer_;
  Lattice lattice_;
  PairFactors<float> factors_;
  std::optional<LabelTail<float>> tail_;
};

// By A of these sentences: fitted_of them (audit/rung_certificate.h), by `seed`, fit the level and the
// shares, the others certify all rungs together, unless the model was trained on them. Labels are not needed.
CrfLadder fit_crf_ladder(const CrfModel& model, const Sequences& data, uint64_t seed,
                         bool is_trained_on = false);

// Of its certified rungs, on other sentences.
std::vector<RungDrift> crf_ladder_drift(const CrfModel& model, const CrfLadder& ladder,
                                        const Sequences& data);

// As the audit record of a model holds it: {"rungs": [...], "level": {"per_sentence", "per_token"}}, and
// "share" of nearest rungs.
std::string crf_ladder_json(const CrfLadder& ladder);
// Of a model whose record has a "ladder"; otherwise empty. Throws Error for a damaged one.
CrfLadder crf_ladder_of(const CrfModel& model, const std::string& file);

}  // namespace selfnorm

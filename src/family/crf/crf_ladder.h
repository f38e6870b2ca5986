// The ladder of log-normalizers of a CRF (theory.md 5), a sentence an input:
//     raw        a = 0
//     level      a = c_0 + c_1 T, least squares of A on (1, T)
//     amortised  a = b(x), of a model that has one
//     exact      the forward recursion
// Costs are numbers that an attribute adds: none, one, or one a label.
#pragma once

#include <string>
#include <vector>

#include "data/sentences/sequences.h"
#include "model/crf/crf_model.h"
#include "selfnorm/runtime/ladder_layout.h"

namespace selfnorm {

struct CrfLadder {
  double per_sentence = 0, per_token = 0;  // of the level
  std::vector<runtime::Rung> rungs;        // without exact; empty: nothing was measured

  // a(x) of a rung; throws Bug for a name that is none.
  double value(const std::string& rung, const CrfModel& model, const Sequences& data,
               uint64_t sentence) const;
};

// By A of these sentences, which had no part in the model: 45% of them, by `seed`, fit the level, the others
// certify all rungs together. Labels are not needed.
CrfLadder fit_crf_ladder(const CrfModel& model, const Sequences& data, uint64_t seed);

// As the audit record of a model holds it: {"rungs": [...], "level": {"per_sentence", "per_token"}}.
std::string crf_ladder_json(const CrfLadder& ladder);
// Of a model whose record has a "ladder"; otherwise empty. Throws Error for a damaged one.
CrfLadder crf_ladder_of(const CrfModel& model, const std::string& file);

}  // namespace selfnorm

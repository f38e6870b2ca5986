#include "crf/crf_timing.h"

#include <algorithm>

#include "classifier/timed_calls.h"
#include "crf/crf_score.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {

CrfTiming time_crf(const CrfModel& model, const Sequences& data) {
  const std::vector<uint64_t> seen = seen_sentences(data, model.shape.labels);
  const uint64_t sentences = std::min<uint64_t>(kTimedRows, seen.size());
  if (sentences == 0)
    throw Error("--timing: every sentence has a label that the model has not seen; expected one without");
  const auto time = [&](selfnorm_kind kind) {
    LabellingScore score(model, kind);
    volatile double sink = 0;
    return nanoseconds(sentences, [&](uint64_t sentence) { sink = score(data, seen[sentence]); });
  };
  CrfTiming out;
  out.score.raw_ns = time(SELFNORM_RAW);
  out.score.exact_ns = time(SELFNORM_EXACT);
  if (model.normalizer.exists) out.score.amortised_ns = time(SELFNORM_AMORTISED);
  for (uint64_t i = 0; i < sentences; ++i)
    out.tokens += static_cast<double>(data.length(seen[i])) / static_cast<double>(sentences);
  return out;
}

}  // namespace selfnorm::cli

#include "chain_timing.h"

#include <algorithm>

#include "chain_score.h"
#include "timed_calls.h"

namespace selfnorm::cli {

ChainTiming time_chain(const ChainModel& model, const Sequences& data) {
  const uint64_t sentences = std::min(kTimedRows, data.sentences());
  const auto time = [&](selfnorm_kind kind) {
    LabellingScore score(model, kind);
    volatile double sink = 0;
    return nanoseconds(sentences, [&](uint64_t sentence) { sink = score(data, sentence); });
  };
  ChainTiming out;
  out.score.raw_ns = time(SELFNORM_RAW);
  out.score.exact_ns = time(SELFNORM_EXACT);
  if (model.normalizer.exists) out.score.amortised_ns = time(SELFNORM_AMORTISED);
  out.tokens = static_cast<double>(data.sentence_begin[sentences]) / static_cast<double>(sentences);
  return out;
}

}  // namespace selfnorm::cli

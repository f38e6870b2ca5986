#include "audit/bounds/kept_examples.h"

#include "math/parallel.h"

namespace selfnorm {

KeptExamples::KeptExamples(const ScoredExamples& examples)
    : kept_(examples.examples()), norm_(examples.norm()), radius_(examples.radius()) {
  parallel_ranges(kept_.size(), examples.block(), [&](size_t begin, size_t end) {
    examples.visit(begin, end, [&](uint64_t i, const ScoredExample& e) {
      kept_[i] = {{e.scores.begin(), e.scores.end()}, e.target, e.weight};
      if (i == 0) log_carrier_.assign(e.log_carrier.begin(), e.log_carrier.end());
    });
  });
}

void KeptExamples::visit(uint64_t begin, uint64_t end,
                         const std::function<void(uint64_t, const ScoredExample&)>& sink) const {
  for (uint64_t i = begin; i < end; ++i)
    sink(i, {.scores = kept_[i].scores,
             .log_carrier = log_carrier_,
             .target = kept_[i].target,
             .weight = kept_[i].weight});
}

}  // namespace selfnorm

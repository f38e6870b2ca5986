#include "normalizer/model_difference.h"

#include "model/multiclass.h"
#include "selfnorm/error.h"

namespace selfnorm {

HeadDifference model_difference(const ModelFile& p, const ModelFile& q, const Dataset& examples) {
  SELFNORM_CHECK(p.family == q.family && p.features == q.features && p.classes == q.classes);
  if (p.family == Family::Multiclass) {
    const bool sparse = examples.features.is_sparse;
    return head_difference(*make_class_scores(p, sparse), *make_class_scores(q, sparse), examples.features);
  }
  const Joint<float> model(examples.features, p.features);
  HeadDifference out;
  for (uint64_t g = 0; g < examples.examples(); ++g) {
    std::vector<double> a, b;
    LogSumExp sum_a, sum_b;
    for (uint64_t row = examples.group_begin[g]; row < examples.group_begin[g + 1]; ++row) {
      a.push_back(model.score(p.weight, row));
      b.push_back(model.score(q.weight, row));
      sum_a.add(a.back());
      sum_b.add(b.back());
    }
    for (size_t y = 0; y < a.size(); ++y) out.add(sum_a.log_share(a[y]), sum_b.log_share(b[y]));
  }
  return out;
}

}  // namespace selfnorm

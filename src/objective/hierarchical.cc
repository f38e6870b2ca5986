#include "objective/hierarchical.h"

#include <algorithm>
#include <vector>

#include "math/kernels.h"
#include "math/sigmoid.h"
#include "model/huffman.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

double node_score(const ModelFile& model, std::span<const float> state, uint32_t row) {
  const float* weight = model.weight.data() + size_t{row} * model.features;
  return dot(weight, state.data(), model.features) + static_cast<double>(model.bias[row]);
}

}  // namespace

DecisionTerms decision(double score, uint32_t side) {
  return {.likelihood = softplus(side == 1 ? -score : score), .d_score = sigmoid(score) - side};
}

ObjectiveEntry hierarchical_entry() {
  return {.name = "hierarchical",
          .text = "a tree of decisions, with an encoder",
          .seam = ObjectiveSeam::tree,
          .offers = {{"classifier", {}}, {"lm", {}}}};
}

double path_nll(const ModelFile& model, std::span<const float> state, uint32_t k) {
  double nll = 0;
  for_each_ancestor(model.tree, k, [&](uint32_t row, uint32_t side) {
    nll += decision(node_score(model, state, row), side).likelihood;
  });
  return nll;
}

void tree_log_probs(const ModelFile& model, std::span<const float> state, std::span<double> out) {
  const size_t classes = model.classes, nodes = model.tree.size();
  std::vector<double> score(classes - 1), nll(nodes);
  for (uint32_t row = 0; row + 1 < classes; ++row) score[row] = node_score(model, state, row);
  for (size_t node = nodes - 1; node-- > 0;) {
    const uint32_t link = model.tree[node];
    nll[node] = nll[classes + link / 2] + decision(score[link / 2], link % 2).likelihood;
  }
  std::transform(nll.begin(), nll.begin() + static_cast<ptrdiff_t>(classes), out.begin(),
                 [](double value) { return -value; });
}

}  // namespace selfnorm

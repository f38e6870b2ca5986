// The output layer of hierarchical softmax (model/huffman.h): one decision for every inner node on the path
// to the target.
#include <algorithm>

#include "family/classifier/network/output_step.h"
#include "math/kernels.h"
#include "model/huffman.h"
#include "objective/hierarchical.h"

namespace selfnorm {
namespace {

class HierarchicalOutput final : public OutputStep {
 public:
  HierarchicalOutput(const TrainOptions& options, ModelFile& model)
      : tree_(model.tree), layer_(model, options.l2), used_(model.classes - 1) {}

  void begin(const StateBatch& batch) override {
    batch_ = &batch;
    node_.clear();
    side_.clear();
    example_.clear();
    begin_.assign(1, 0);
    for (uint32_t i = 0; i < batch.target.size(); ++i) {
      for_each_ancestor(tree_, batch.target[i], [&](uint32_t row, uint32_t side) {
        node_.push_back(row);
        side_.push_back(side);
        example_.push_back(i);
      });
      begin_.push_back(node_.size());
    }
    d_score_.resize(node_.size());
  }

  LossSum block(Range examples, float* d_state) override {
    const size_t m = layer_.states();
    std::fill_n(d_state, examples.size() * m, 0.0f);
    LossSum sum;
    for (uint64_t i = examples.begin; i < examples.end; ++i) {
      const float* h = batch_->state.dense.row(i).data();
      const double w = batch_->weight.empty() ? 1 : static_cast<double>(batch_->weight[i]);
      double loss = 0;
      for (size_t p = begin_[i]; p < begin_[i + 1]; ++p) {
        const DecisionTerms t = decision(layer_.score(node_[p], h), side_[p]);
        loss += t.likelihood;
        d_score_[p] = static_cast<float>(w * batch_->scale * t.d_score);
        add_scaled(d_score_[p], layer_.weight(node_[p]), d_state + (i - examples.begin) * m, m);
      }
      sum.weight += w;
      sum.likelihood += w * loss;
      sum.normalised_weight += w;  // log Z = 0 by construction
      sum.nll += w * loss;
    }
    return sum;
  }

  std::vector<ExampleArray> written() override {
    return {ExampleArray::of(d_score_, [this](uint64_t i) { return begin_[i]; })};
  }

  void update(double rate) override {
    layer_.begin_step(rate);
    used_.group(node_);
    layer_.update_used(used_, [&](uint32_t p, float* gradient, float& d_bias) {
      add_scaled(d_score_[p], batch_->state.dense.row(example_[p]).data(), gradient, layer_.states());
      d_bias += d_score_[p];
    });
  }

  void finish(ModelFile& /*model*/) override { layer_.settle(); }
  void state(CheckpointFields& fields) override { layer_.state(fields); }

 private:
  const std::vector<uint32_t>& tree_;
  OutputLayer layer_;
  Occurrences used_;

  // Of the current step: the nodes of all paths, one after another.
  const StateBatch* batch_ = nullptr;
  std::vector<uint32_t> node_, side_, example_;
  std::vector<size_t> begin_;
  std::vector<float> d_score_;
};

}  // namespace

std::unique_ptr<OutputStep> make_hierarchical_output(const TrainOptions& options, ModelFile& model) {
  return std::make_unique<HierarchicalOutput>(options, model);
}

}  // namespace selfnorm

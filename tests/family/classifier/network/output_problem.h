// One minibatch of an output layer, and all the objectives it can be trained with.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "family/classifier/network/output_step.h"
#include "family/classifier/noise_draw.h"
#include "family/classifier/options.h"
#include "model/huffman.h"
#include "objective/registry.h"
#include "random_data.h"

namespace selfnorm {

inline constexpr uint32_t kStates = 4, kExamples = 9;
inline constexpr double kScale = 0.003;  // small, so that gradients are of the size of AdaGrad's G0

inline ObjectiveOptions objective_of(const std::string& name) {
  ObjectiveOptions out;
  out.name = name;
  out.samples = 5;
  out.normalizer_hidden = 3;
  return out;
}

inline std::vector<ObjectiveOptions> output_objectives() {
  std::vector<ObjectiveOptions> out;
  for (const char* name : {"exact", "penalty", "hierarchical"}) out.push_back(objective_of(name));
  out.push_back(objective_of("penalty"));
  out.back().centre = 0.7;
  out.push_back(objective_of("penalty"));
  out.back().learn_centre = true;
  for (const double gamma : {0.0, 0.3}) {
    out.push_back(objective_of("sampled"));
    out.back().gamma = gamma;
  }
  for (const std::string& name : candidate_objective_names()) {
    for (const char* noise : {"unigram", "uniform", "in-batch"}) {
      for (const char* sharing : {"batch", "example"}) {
        for (const char* normalizer : {"zero", "constant", "linear", "mlp"}) {
          ObjectiveOptions o = objective_of(name);
          o.noise = noise;
          o.noise_sharing = sharing;
          o.normalizer = normalizer;
          const bool repeats = o.noise == "in-batch" && o.noise_sharing == "example";
          if (!repeats && (objective_entry(name).uses_normalizer || o.normalizer == "zero")) out.push_back(o);
        }
      }
    }
  }
  return out;
}

struct OutputProblem {
  uint32_t classes = 6;
  bool is_decorated = false;  // weights of examples, one of them 0, and a carrier
};

// An output layer with one minibatch.
class Layer {
 public:
  Layer(const ObjectiveOptions& objective, const OutputProblem& problem) {
    options_.objective = objective;
    options_.l2 = 0;
    options_.seed = 11;
    resolve_centre(false, options_.objective);
    for (uint32_t k = 0; k < problem.classes; ++k) counts_.push_back(3 + k);
    const bool has_tree = objective.name == "hierarchical";
    model_.family = has_tree ? Family::Hierarchical : Family::Multiclass;
    model_.classes = problem.classes;
    model_.features = kStates;
    if (has_tree) model_.tree = huffman_tree(counts_);
    model_.bias = random_vector<float>(has_tree ? problem.classes - 1 : problem.classes, 1, 0.5);
    if (is_candidate_objective(objective.name))  // r well below the bound of its derivatives
      for (float& c : model_.bias) c -= 3;
    model_.weight = random_vector<float>(model_.bias.size() * kStates, 2, 0.5);
    state_.is_sparse = false;
    state_.dense = {kExamples, kStates, random_vector<float>(kExamples * kStates, 3)};
    for (uint32_t i = 0; i < kExamples; ++i) target_.push_back((i * i + 1) % problem.classes);
    if (problem.is_decorated) {
      weight_ = {1, 2, 0, 0.5f, 3, 1, 1, 0.25f, 1};
      if (!has_tree) model_.log_carrier = random_vector<float>(problem.classes, 4);
    }
    batch_.target = target_;
    batch_.weight = weight_;
    step_ = make();
  }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  std::unique_ptr<OutputStep> make() {
    const std::string& name = options_.objective.name;
    if (name == "hierarchical") return make_hierarchical_output(options_, model_);
    return is_candidate_objective(name) ? make_candidate_output(options_, model_, counts_)
                                        : make_enumerated_output(options_, model_);
  }

  LossSum run(std::vector<float>& d_state) {
    d_state.assign(state_.dense.values.size(), 77.0f);
    step_->begin(batch_);
    LossSum sum = step_->block({5, kExamples}, d_state.data() + 5 * kStates);  // in any order
    return sum += step_->block({0, 5}, d_state.data());
  }
  double loss() {
    std::vector<float> unused;
    const LossSum sum = run(unused);
    return batch_.scale * (sum.likelihood + sum.penalty);
  }
  void update(double rate) {
    loss();
    step_->update(rate);
  }

  // The rows that the minibatch names.
  std::set<uint32_t> used_rows() const {
    std::set<uint32_t> out;
    const ObjectiveOptions& o = options_.objective;
    if (o.name == "hierarchical") {
      for (const uint32_t y : target_)
        for_each_ancestor(model_.tree, y, [&](uint32_t row, uint32_t) { out.insert(row); });
      return out;
    }
    out.insert(target_.begin(), target_.end());
    if (is_candidate_objective(o.name)) {
      NoiseDraw noise(o, options_.seed, counts_);
      noise.draw(batch_.step, target_);
      out.insert(noise.classes().begin(), noise.classes().end());
    } else if (!(o.name == "sampled" && o.gamma == 0)) {
      for (uint32_t k = 0; k < model_.classes; ++k) out.insert(k);
    }
    return out;
  }

  // d loss / dx by central differences; scores are floats, so about 1e-3 of a derivative of order 1.
  double difference(float& x) {
    const float at = x;
    x = at + 0.01f;
    const double above = loss(), high = double{x};
    x = at - 0.01f;
    const double below = loss(), low = double{x};
    x = at;
    return (above - below) / (high - low);
  }

  TrainOptions options_;
  std::vector<uint64_t> counts_;
  ModelFile model_;
  Features state_;
  std::vector<uint32_t> target_;
  std::vector<float> weight_;
  std::unique_ptr<OutputStep> step_;
  StateBatch batch_{.state = state_, .target = {}, .weight = {}, .scale = kScale, .step = 3};
};

}  // namespace selfnorm

// What the members of a regressor are trained on: encoded rows, standardised targets, and the shape of the
// networks.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/table/frame.h"
#include "family/regressor/train/regressor_options.h"
#include "model/regressor/regressor.h"

namespace selfnorm {

class RegressorProblem {
 public:
  // Statistics come from train_rows alone. Throws Error for unusable targets (missing, text, constant,
  // outside the support) and options.
  RegressorProblem(const Frame& frame, const std::vector<std::string>& targets,
                   std::span<const uint64_t> train_rows, std::span<const uint64_t> valid_rows,
                   const RegressorOptions& options);

  // With what 0 means resolved.
  const RegressorOptions& options() const { return options_; }
  const ConditionalMixture& mixture() const { return *mixture_; }
  // Of all rows of the frame.
  const EncodedFrame& inputs() const { return inputs_; }
  Points targets() const { return {target_.data(), inputs_.rows, model_.mixture.dimension}; }
  std::vector<float> take_targets(std::span<const uint64_t> rows) const;
  // Of the targets in training: options.noise_floor in standardised units, by coordinate.
  const std::vector<double>& noise_floor() const { return noise_floor_; }
  // Standardised, of all rows of the frame: targets that are known to lie between; empty: all are numbers.
  const TargetEnds& ends() const { return ends_; }
  bool is_interval(uint64_t row) const { return !ends_.low.empty() && !ends_.is_number(row); }
  double weight(uint64_t row) const {
    return weight_.empty() ? 1 : weight_[row];
  }  // mean 1 over training rows
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Networks of a member at their start. `rows`: those it is trained on.
  RegressorNetworks make_networks(uint64_t seed, std::span<const uint64_t> rows) const;
  // Levels that `rows` do not have are taken for the mean of those they have.
  void set_unseen(std::span<const uint64_t> rows, RegressorNetworks& networks) const;

  // The model without members.
  const Regressor& model() const { return model_; }
  Regressor release() { return std::move(model_); }

 private:
  // The first `training` of `rows` are the training rows.
  void standardise_targets(const Frame& frame, std::span<const uint64_t> rows, uint64_t training);
  // What standardise_targets takes for the targets: numbers, or places inside the intervals.
  std::vector<double> read_targets(const Frame& frame, std::span<const uint64_t> rows);
  void standardise_ends(std::span<const uint64_t> rows);
  void read_weights(const Frame& frame, std::span<const uint64_t> rows, uint64_t training);
  void check_texts(const Frame& frame);
  // How often every level of every categorical input appears in `rows`.
  std::vector<std::vector<uint64_t>> level_counts(std::span<const uint64_t> rows) const;

  RegressorOptions options_;
  Regressor model_;
  EncodedFrame inputs_;
  std::vector<float> target_;
  std::vector<double> noise_floor_, weight_;
  TargetEnds ends_;
  std::vector<std::string> warnings_;
  std::unique_ptr<ConditionalMixture> mixture_;
};

// The scales of the mixture do not depend on the features: the weights of the head that say so are 0.
void share_scales(const MixtureShape& shape, std::span<float> head);

// b(x) fitted to exact values: with r = normalizer(h(x)) - A(x) at inputs at and around those of training,
// Huber's loss r^2/2 up to |r| = 0.1 and linear beyond, so that a few inputs far outside, where A(x) is
// anything, do not rule; by Adam on the normalizer alone, features constant.

// A comes from quadrature at some of the rows and as many generated inputs, in turn a point between two rows
// and a row moved by noise of up to a standard deviation. The best of the networks passed through, the one it
// starts from included, by the mean loss on a fifth of them, is kept. `unseen`: rows that the member was not
// trained on, and that nothing is reported of.
struct NormalizerRows {
  std::span<const uint64_t> trained, unseen;
};
void fit_normalizer(const RegressorProblem& problem, const NormalizerRows& rows, uint64_t seed,
                    RegressorNetworks& networks);

}  // namespace selfnorm

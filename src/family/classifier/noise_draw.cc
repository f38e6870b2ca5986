#include "family/classifier/noise_draw.h"

#include <cmath>

#include "math/random.h"

namespace selfnorm {
namespace {

constexpr uint64_t kNoiseStream = 0x6e6f697365000000;  // "noise"

}  // namespace

NoiseDraw::NoiseDraw(const ObjectiveOptions& options, uint64_t seed, std::span<const uint64_t> counts)
    : in_batch_(options.noise == "in-batch"),
      own_(!in_batch_ && options.noise_sharing == "example"),
      samples_(options.samples),
      seed_(seed),
      count_(counts),
      proposal_(in_batch_ ? nullptr : make_proposal(options.noise, counts, options.noise_power)) {
  for (const uint64_t n : counts) total_ += static_cast<double>(n);
}

void NoiseDraw::draw(uint64_t step, std::span<const uint32_t> targets) {
  if (in_batch_) {
    classes_.assign(targets.begin(), targets.end());
  } else {
    RandomStream random(seed_, kNoiseStream + step);
    classes_.resize(own_ ? samples_ * targets.size() : samples_);
    for (uint32_t& k : classes_) k = proposal_->sample(random);
  }
  log_q_.clear();
  for (const uint32_t k : classes_) log_q_.push_back(log_prob(k));
}

NoiseDraw::View NoiseDraw::view(uint64_t example) const {
  if (own_) return {example * samples_, (example + 1) * samples_, (example + 1) * samples_};
  return {0, classes_.size(), in_batch_ ? example : classes_.size()};
}

std::span<const double> NoiseDraw::log_q_of(const View& view, std::vector<double>& buffer) const {
  const auto all = log_q().subspan(view.begin, view.end - view.begin);
  if (view.hole == view.end) return all;
  const auto hole = all.begin() + static_cast<std::ptrdiff_t>(view.hole - view.begin);
  buffer.assign(all.begin(), hole);
  buffer.insert(buffer.end(), hole + 1, all.end());
  return buffer;
}

std::span<const uint8_t> NoiseDraw::hits_of(const View& view, uint32_t target,
                                            std::vector<uint8_t>& buffer) const {
  buffer.clear();
  for (size_t j = view.begin; j < view.end; ++j)
    if (j != view.hole) buffer.push_back(classes_[j] == target ? 1 : 0);
  return buffer;
}

double NoiseDraw::log_prob(uint32_t k) const {
  return in_batch_ ? std::log(static_cast<double>(count_[k]) / total_) : proposal_->log_prob(k);
}

double NoiseDraw::use_probability(uint32_t k, uint64_t batch) const {
  const double b = static_cast<double>(batch);
  const double no_target = std::log1p(-static_cast<double>(count_[k]) / total_);
  if (in_batch_) return -std::expm1(b * no_target);
  const double draws = static_cast<double>(samples_) * (own_ ? b : 1);
  return -std::expm1(draws * std::log1p(-std::exp(proposal_->log_prob(k))) + b * no_target);
}

}  // namespace selfnorm

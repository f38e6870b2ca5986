#include "family/classifier/device_sampling.h"

#include <algorithm>
#include <bit>

#include "selfnorm/error.h"

namespace selfnorm {

DeviceSampling::DeviceSampling(const GpuDevice& device, const ObjectiveOptions& objective, uint64_t seed,
                               std::span<const uint64_t> counts, const Layer& layer, const Options& options)
    : device_(device),
      entry_(objective_entry(objective.name)),
      layer_(layer),
      options_(options),
      noise_(objective, seed, counts),
      in_batch_(objective.noise == "in-batch"),
      draws_(in_batch_ ? options.rows : objective.samples),
      all_draws_(noise_.is_shared() ? draws_ : draws_ * options.rows),
      used_(layer.classes),
      carrier_(device, std::max<size_t>(1, layer.log_carrier.size()) * sizeof(float)),
      words_there_(device, most_words() * sizeof(uint32_t)),
      states_(device, options.rows * layer.columns * sizeof(float)),
      found_(device, options.rows * (kTerms + layer.columns) * sizeof(float)),
      gradient_(device, most_used() * (layer.columns + 1) * sizeof(float)),
      workspace_size_(device.module().selfnorm_sampled_workspace(&(step_ = planned(options.rows)))),
      workspace_(device, workspace_size_) {
  device.must(device.module().selfnorm_cuda_upload(device.context(), carrier_.get(), SELFNORM_F32,
                                                   layer.log_carrier.data(), layer.log_carrier.size()));
  note_use(device);
}

size_t DeviceSampling::most_used() const {
  return std::min<size_t>(all_draws_ + options_.rows, layer_.classes);
}
size_t DeviceSampling::most_words() const { return 5 * options_.rows + 3 * all_draws_ + 2 * most_used(); }

selfnorm_sampled_step DeviceSampling::planned(size_t rows) const {
  selfnorm_sampled_step s = {};
  s.size = sizeof(s);
  s.rows = static_cast<int64_t>(rows);
  s.dim = s.state_stride = s.weight_stride = static_cast<int64_t>(layer_.columns);
  s.classes = static_cast<int64_t>(layer_.classes);
  s.type = SELFNORM_F32;
  s.objective = entry_.device_formula;
  s.draws = static_cast<int64_t>(in_batch_ ? rows : draws_);
  s.is_shared = noise_.is_shared() ? 1 : 0;
  s.leaves_own = in_batch_ ? 1 : 0;
  s.most_push = static_cast<float>(options_.most_push);
  s.states = states_.get();
  s.weight = layer_.weight;
  s.bias = layer_.bias;
  s.carrier = layer_.log_carrier.empty() ? nullptr : carrier_.get<float>();
  return s;
}

void DeviceSampling::run(uint64_t step, const Rows& rows) {
  SELFNORM_CHECK(rows.target.size() <= options_.rows);
  noise_.draw(step, rows.target);
  list_.assign(noise_.classes().begin(), noise_.classes().end());
  list_.insert(list_.end(), rows.target.begin(), rows.target.end());
  used_.group(list_);
  send(rows);
  const GpuModule& module = device_.module();
  device_.must(module.selfnorm_cuda_upload(device_.context(), states_.get(), SELFNORM_F32, rows.states.data(),
                                           rows.states.size()));
  device_.must(module.selfnorm_sampled_run(device_.context(), &step_));
  host_found_.resize(rows.target.size() * (kTerms + (options_.wants_states ? layer_.columns : 0)));
  device_.must(module.selfnorm_cuda_to_host(device_.context(), host_found_.data(), found_.get(),
                                            host_found_.size() * sizeof(float)));
}

// All that is not a state, as words of 4 bytes, at once.
void DeviceSampling::send(const Rows& rows) {
  const size_t n = rows.target.size();
  words_.clear();
  const auto classes = [&](std::span<const uint32_t> values) {
    words_.insert(words_.end(), values.begin(), values.end());
    return words_.size() - values.size();
  };
  const auto numbers = [&](std::span<const double> values) {
    for (const double v : values) words_.push_back(std::bit_cast<uint32_t>(static_cast<float>(v)));
    return words_.size() - values.size();
  };
  std::vector<double> target_log_q(n);
  for (size_t i = 0; i < n; ++i) target_log_q[i] = noise_.log_prob(rows.target[i]);
  const size_t target = classes(rows.target), draw = classes(noise_.classes()), used = classes(used_.rows()),
               used_end = classes(used_.ends()), used_place = classes(used_.places()),
               log_q = numbers(target_log_q), draw_log_q = numbers(noise_.log_q()), b = numbers(rows.b),
               factor = numbers(rows.factor);
  SELFNORM_CHECK(words_.size() <= most_words());
  device_.must(device_.module().selfnorm_cuda_to_device(device_.context(), words_there_.get(), words_.data(),
                                                        words_.size() * sizeof(uint32_t)));
  const auto* const words = words_there_.get<uint32_t>();
  const auto* const floats = words_there_.get<float>();
  step_ = planned(n);
  step_.target = words + target, step_.draw = words + draw;
  step_.target_log_q = floats + log_q, step_.draw_log_q = floats + draw_log_q;
  step_.normalizer = floats + b, step_.factor = floats + factor;
  step_.used_count = static_cast<int64_t>(used_.size());
  step_.used = words + used, step_.used_end = words + used_end, step_.used_place = words + used_place;
  step_.terms = found_.get<float>();
  step_.d_states = options_.wants_states ? step_.terms + n * kTerms : nullptr;
  step_.d_used = gradient_.get<float>();
  step_.d_used_bias = layer_.bias != nullptr ? step_.d_used + used_.size() * layer_.columns : nullptr;
  step_.workspace = workspace_.get();
  step_.workspace_bytes = workspace_size_;
}

CandidateTerms DeviceSampling::terms(uint64_t row) const {
  const float* const found = host_found_.data() + row * kTerms;
  CandidateTerms out{.likelihood = found[0], .d_log_normalizer = found[1]};
  if (entry_.uses_estimate) out.estimate = ImportanceEstimate{.log_z = found[2], .effective = found[3]};
  return out;
}

std::span<const float> DeviceSampling::d_states() const {
  return std::span(host_found_).subspan(static_cast<size_t>(step_.rows) * kTerms);
}

}  // namespace selfnorm

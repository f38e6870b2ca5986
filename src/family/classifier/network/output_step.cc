#include "family/classifier/network/output_step.h"

#include "math/kernels.h"
#include "math/process/shared_loop.h"
#include "objective/registry.h"

namespace selfnorm {

TrainedRows::TrainedRows(std::vector<float>& values, size_t columns, double decay)
    : values_(values),
      columns_(columns),
      optimiser_(values.size() / columns, columns, kInitialSquare, decay) {}

void TrainedRows::state(const std::string& name, CheckpointFields& fields, const ClassShard& shard) {
  fields.split(name, values_, shard, {.each = columns_});
  fields.split(name + ".square", optimiser_.state().square, shard, {});
  fields.split(name + ".decayed", optimiser_.state().decayed, shard, {});
  fields(name + ".log_decay", optimiser_.state().log_decay);
}

OutputLayer::OutputLayer(ModelFile& model, double decay, const ClassShard& shard)
    : weight_(model.weight, model.features, decay),
      bias_(model.bias, 1, 0),
      carrier_(model.log_carrier),
      shard_(shard) {}

double OutputLayer::score(size_t k, const float* state) const {
  return dot(weight(k), state, weight_.columns()) + static_cast<double>(offset(k));
}

void OutputLayer::begin_step(double rate) {
  weight_.begin_step(rate);
  bias_.begin_step(rate);
}

void OutputLayer::update(size_t k, const float* gradient, float d_bias) {
  weight_.update(k, gradient);
  bias_.update(k, &d_bias);
}

void OutputLayer::state(CheckpointFields& fields) {
  weight_.state("weight", fields, shard_);
  bias_.state("bias", fields, shard_);
}

CandidateExample::CandidateExample(const TrainOptions& options)
    : objective_(make_candidate_objective(options.objective.name)),
      uses_estimate_(objective_entry(options.objective.name).uses_estimate) {}

CandidateExample::Terms CandidateExample::operator()(const NoiseDraw& noise, const NoiseDraw::View& view,
                                                     const Target& target,
                                                     std::span<const double> sample_score,
                                                     std::vector<double>& d_sample) const {
  std::vector<double> log_q;
  std::vector<uint8_t> hit;
  d_sample.resize(sample_score.size());
  Terms t{(*objective_)(
      {.score = target.score,
       .log_q = target.log_q,
       .sample_score = sample_score,
       .sample_log_q = noise.log_q_of(view, log_q),
       .sample_hit = uses_estimate_ ? noise.hits_of(view, target.label, hit) : std::span<const uint8_t>(),
       .log_normalizer = target.log_normalizer},
      d_sample)};
  if (!uses_estimate_) return t;
  double push = std::max(0.0, t.d_score);
  for (const double d : d_sample) push += d;
  if (push > kLargestPush) t.limit = kLargestPush / push;
  return t;
}

LearnedCentre::LearnedCentre(const TrainOptions& options)
    : is_learned_(options.objective.learn_centre),
      value_{static_cast<float>(options.objective.centre.value_or(0))},
      optimiser_(1, 1, 1.0, 0) {}

void LearnedCentre::update(std::span<const double> derivative, double rate) {
  constexpr double kRate = 10, kLargestRate = 1;
  if (!is_learned_) return;
  double d = 0;
  for (const double x : derivative) d += x;
  const float clipped = static_cast<float>(std::clamp(d / static_cast<double>(derivative.size()), -1.0, 1.0));
  optimiser_.begin_step(std::min(kRate * rate, kLargestRate));
  optimiser_.update(value_.data(), 0, &clipped);
}

void LearnedCentre::state(CheckpointFields& fields) {
  fields("centre", value_);
  fields("centre.square", optimiser_.state().square);
}

Occurrences::Occurrences(size_t rows) : slot_(rows, kNone) {}

void Occurrences::group(std::span<const uint32_t> list) {
  for (const uint32_t row : row_) slot_[row] = kNone;
  row_.clear();
  end_.clear();
  for (const uint32_t row : list) {
    if (slot_[row] == kNone) {
      slot_[row] = static_cast<uint32_t>(row_.size());
      row_.push_back(row);
      end_.push_back(0);
    }
    ++end_[slot_[row]];
  }
  uint32_t before = 0;
  for (uint32_t& end : end_) {
    const uint32_t count = end;
    end = before;  // the begin for now; filling moves it to the end
    before += count;
  }
  position_.resize(list.size());
  for (uint32_t i = 0; i < list.size(); ++i) position_[end_[slot_[list[i]]]++] = i;
}

std::span<const uint32_t> Occurrences::positions(size_t slot) const {
  const uint32_t begin = slot == 0 ? 0 : end_[slot - 1];
  return std::span(position_).subspan(begin, end_[slot] - begin);
}

std::span<const uint32_t> Occurrences::positions_of(uint32_t row) const {
  return slot_[row] == kNone ? std::span<const uint32_t>() : positions(slot_[row]);
}

void share_examples(uint64_t n, size_t grain, const std::function<void(Range)>& body,
                    const std::vector<ExampleArray>& arrays) {
  const size_t units = (n + grain - 1) / grain;
  const auto run_unit = [&](size_t unit) { body({unit * grain, std::min<uint64_t>(n, (unit + 1) * grain)}); };
  Communicator* const all = sharing(units);
  if (all == nullptr) return parallel_units(units, run_unit);
  std::vector<SharedArray> shared;
  shared.reserve(arrays.size());
  for (const ExampleArray& array : arrays)
    shared.push_back(shared_array(*all, units, array.data, [&](size_t unit) {
      return array.begin(std::min<uint64_t>(n, unit * grain));
    }));
  const UnitShare own = all->share(units);
  all->share_work([&] { parallel_units(own.size(), [&](size_t unit) { run_unit(own.begin + unit); }); },
                  std::move(shared));
}

}  // namespace selfnorm

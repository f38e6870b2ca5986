#include "audit/audit.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "audit/gauge.h"
#include "audit/stream.h"
#include "base/failure.h"
#include "model/normalizer_network.h"
#include "normalizer/output_stream.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kCalibrationBins = 15;

class Calibration {
 public:
  void add(double confidence, bool correct) {
    const double place = std::clamp(confidence, 0.0, 1.0) * static_cast<double>(kCalibrationBins);
    Sums& sums = sums_[std::min(kCalibrationBins - 1, static_cast<size_t>(place))];
    ++sums.count;
    sums.confidence += confidence;
    sums.correct += correct ? 1 : 0;
  }
  double ece(double n) const {
    double sum = 0;
    for (const Sums& sums : sums_) sum += std::abs(sums.correct - sums.confidence) / n;
    return sum;
  }
  std::vector<CalibrationBin> bins() const {
    std::vector<CalibrationBin> out;
    for (size_t i = 0; i < kCalibrationBins; ++i) {
      const Sums& sums = sums_[i];
      const double count = static_cast<double>(std::max<uint64_t>(sums.count, 1));
      const auto edge = [](size_t place) { return static_cast<double>(place) / kCalibrationBins; };
      out.push_back({edge(i), edge(i + 1), sums.count, sums.confidence / count, sums.correct / count});
    }
    return out;
  }

 private:
  struct Sums {
    uint64_t count = 0;
    double confidence = 0, correct = 0;
  };
  std::array<Sums, kCalibrationBins> sums_ = {};
};

double square_norm(const Features& features, uint64_t row) {
  if (!features.is_sparse) {
    const std::span<const float> x = features.dense.row(row);
    return dot(x.data(), x.data(), x.size());
  }
  const uint64_t begin = features.sparse.begin[row];
  const float* const x = features.sparse.value.data() + begin;
  return dot(x, x, features.sparse.begin[row + 1] - begin);
}

// Of an input; of a group, the root mean square over its alternatives.
double norm_of(const Dataset& data, uint64_t i) {
  if (!data.is_joint()) return std::sqrt(square_norm(data.features, i));
  double sum = 0;
  for (uint64_t a = data.group_begin[i]; a < data.group_begin[i + 1]; ++a)
    sum += square_norm(data.features, a);
  return std::sqrt(sum / static_cast<double>(data.group_begin[i + 1] - data.group_begin[i]));
}

AuditedInput audited_input(const WorstInput& input, const OutputBlock& block) {
  const uint64_t i = input.example - block.first;
  const OutputRow& row = block.rows[i];
  AuditedInput out{input};
  out.norm = norm_of(block.data, i);
  out.best = row.moments.best;
  out.best_exact = row.moments.total.log_share(row.moments.total.max);
  if (std::isnan(row.target_score)) return out;
  out.target = block.data.target[i];
  out.target_exact = row.moments.total.log_share(row.target_score);
  out.is_correct = row.is_correct;
  return out;
}

// Everything that is summed while the blocks stream by.
class Auditor {
 public:
  Auditor(const ModelFile& model, const AuditOptions& options)
      : model_(model), options_(options), errors_(options), worst_(options.worst) {}

  void add(const OutputBlock& block) {
    std::vector<double> b(block.rows.size());
    if (options_.amortised) b = values_of(model_.normalizer, block.data.features);
    for (size_t i = 0; i < block.rows.size(); ++i) {
      keep({block.first + i, add(block.first + i, block.rows[i], b[i])}, block);
      if (!block.data.is_joint() && !std::isnan(block.rows[i].target_score))
        confusion_.add(block.data.target[i], block.rows[i].moments.best);
    }
  }

  Audit finish(const std::optional<LinearFit>& gauge) {
    const double n = static_cast<double>(log_z_.n);
    Audit out;
    static_cast<ErrorAudit&>(out) = errors_.finish();
    out.n = log_z_.n;
    out.classes = classes_;
    out.above_one = static_cast<double>(above_one_) / n;
    out.kl_uniform = kl_uniform_ / n;
    out.variance = log_z_.variance();
    if (gauge) static_cast<GaugeVariance&>(out) = gauge_variance(out.variance, *gauge, log_z_.n);
    if (labelled_ == log_z_.n) {
      const double seen = n - static_cast<double>(unseen_);
      out.labelled = {.unseen = unseen_,
                      .nll_raw = nll_raw_ / seen,
                      .nll_amortised = std::nullopt,
                      .nll_exact = nll_exact_ / seen,
                      .accuracy = correct_ / n,
                      .ece = audited_.ece(n),
                      .ece_exact = exact_.ece(n),
                      .bins = audited_.bins(),
                      .bins_exact = exact_.bins(),
                      .confusion = confusion_.taken(kMostPairs)};
      if (options_.amortised) out.labelled->nll_amortised = nll_amortised_ / seen;
    }
    out.sample = sample_.points();
    out.sample_stride = sample_.stride();
    out.worst_inputs = worst_.taken();
    return out;
  }

 private:
  // Returns e(x).
  double add(uint64_t example, const OutputRow& row, double b) {
    const double log_z = row.moments.log_z();
    const double subtracted = model_.log_normalizer + b, error = log_z - subtracted;
    if (!std::isfinite(error))
      throw Error("the amortised normalizer of the model is not finite on these inputs");
    log_z_.add(log_z);
    errors_.add(example, error);
    classes_ = std::max(classes_, row.outputs);
    kl_uniform_ += std::log(static_cast<double>(row.outputs)) - row.moments.entropy();
    const double confidence = std::exp(row.moments.total.max - subtracted);
    above_one_ += confidence > 1 ? 1 : 0;
    if (std::isnan(row.target_score) && !row.is_unseen) return error;
    ++labelled_;
    correct_ += row.is_correct ? 1 : 0;
    audited_.add(confidence, row.is_correct);
    exact_.add(1 / row.moments.total.sum, row.is_correct);
    unseen_ += row.is_unseen ? 1 : 0;
    if (row.is_unseen) return error;
    nll_raw_ += model_.log_normalizer - row.target_score;
    nll_amortised_ += subtracted - row.target_score;
    nll_exact_ -= row.moments.total.log_share(row.target_score);
    return error;
  }

  void keep(const WorstInput& input, const OutputBlock& block) {
    if (sample_.takes_next())
      sample_.add(audited_input(input, block));
    else
      sample_.skip();
    if (worst_.takes(input)) worst_.add(audited_input(input, block));
  }

  const ModelFile& model_;
  const AuditOptions& options_;
  RunningVariance log_z_;
  ErrorAuditor errors_;
  static constexpr size_t kMostPairs = 200;

  Calibration audited_, exact_;
  ConfusionCount confusion_;
  PointSample<AuditedInput> sample_;
  WorstInputs<AuditedInput> worst_;
  double kl_uniform_ = 0, nll_raw_ = 0, nll_amortised_ = 0, nll_exact_ = 0, correct_ = 0;
  uint64_t above_one_ = 0, labelled_ = 0, unseen_ = 0, classes_ = 0;
};

}  // namespace

Audit audit(const ModelFile& model, const ExampleSource& source, const AuditOptions& options,
            const std::function<void(uint64_t)>& progress) {
  options.validate();
  if (options.amortised && !model.normalizer.exists())
    throw_error(
        "the model has no amortised normalizer; audit its raw scores, or add one (selfnorm normalize "
        "`amortise`)");
  const OutputStream outputs(model, source);
  // V* of joint models with very many features is not known.
  std::optional<GaugeRegression> gauge;
  if (options.with_v_star && (!source.is_joint() || source.columns() <= kLargestRegression))
    gauge.emplace(source, model.features);
  Auditor auditor(model, options);
  outputs.run(
      [&](const OutputBlock& block) {
        std::vector<double> log_z;
        for (const OutputRow& row : block.rows) log_z.push_back(row.moments.log_z());
        if (gauge) gauge->add(block.data, log_z);
        auditor.add(block);
      },
      progress);
  Audit out = auditor.finish(gauge ? std::optional(gauge->fit()) : std::nullopt);
  for (WorstInput& input : out.worst) input.example = source.number(input.example);
  for (auto* inputs : {&out.worst_inputs, &out.sample})
    for (AuditedInput& input : *inputs) input.example = source.number(input.example);
  return out;
}

}  // namespace selfnorm

#include "selfnorm/analysis/audit.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "selfnorm/analysis/gauge.h"
#include "selfnorm/base/error.h"
#include "selfnorm/model/normalizer_network.h"
#include "selfnorm/normalizer/output_stream.h"

namespace selfnorm {
namespace {

constexpr size_t kCalibrationBins = 15;

struct CalibrationBins {
  struct Bin {
    double confidence = 0, correct = 0;
  };
  std::array<Bin, kCalibrationBins> bins;

  void add(double confidence, bool correct) {
    const double place = std::clamp(confidence, 0.0, 1.0) * static_cast<double>(kCalibrationBins);
    Bin& bin = bins[std::min(kCalibrationBins - 1, static_cast<size_t>(place))];
    bin.confidence += confidence;
    bin.correct += correct ? 1 : 0;
  }
  double ece(double n) const {
    double sum = 0;
    for (const Bin& bin : bins) sum += std::abs(bin.correct - bin.confidence) / n;
    return sum;
  }
};

// Everything that is summed while the blocks stream by.
class Auditor {
 public:
  Auditor(const ModelFile& model, const AuditOptions& options)
      : model_(model), options_(options), errors_(options) {}

  void add(const OutputBlock& block) {
    std::vector<double> b(block.rows.size());
    if (options_.amortised) b = values_of(model_.normalizer, block.data.features);
    for (size_t i = 0; i < block.rows.size(); ++i) add(block.first + i, block.rows[i], b[i]);
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
    if (gauge) {
      out.v_star = gauge->residual_variance;
      const double left = n - 1 - gauge->degrees_of_freedom;
      if (left >= 1) out.v_star_adjusted = std::min(out.variance, gauge->residual_variance * n / left);
    }
    if (labelled_ == log_z_.n) {
      out.labelled = {.nll_raw = nll_raw_ / n,
                      .nll_amortised = std::nullopt,
                      .nll_exact = nll_exact_ / n,
                      .accuracy = correct_ / n,
                      .ece = audited_.ece(n),
                      .ece_exact = exact_.ece(n)};
      if (options_.amortised) out.labelled->nll_amortised = nll_amortised_ / n;
    }
    return out;
  }

 private:
  void add(uint64_t example, const OutputRow& row, double b) {
    const double log_z = row.moments.log_z();
    const double subtracted = model_.log_normalizer + b, error = log_z - subtracted;
    if (!std::isfinite(error))
      throw Error("the amortised normalizer of the model is not finite on these inputs");
    log_z_.add(log_z);
    errors_.add(example, error);
    classes_ = std::max(classes_, row.outputs);
    kl_uniform_ += row.moments.expected() - log_z + std::log(static_cast<double>(row.outputs));
    const double confidence = std::exp(row.moments.total.max - subtracted);
    above_one_ += confidence > 1 ? 1 : 0;
    if (std::isnan(row.target_score)) return;
    ++labelled_;
    nll_raw_ += model_.log_normalizer - row.target_score;
    nll_amortised_ += subtracted - row.target_score;
    nll_exact_ += log_z - row.target_score;
    correct_ += row.is_correct ? 1 : 0;
    audited_.add(confidence, row.is_correct);
    exact_.add(std::exp(row.moments.total.max - log_z), row.is_correct);
  }

  const ModelFile& model_;
  const AuditOptions& options_;
  RunningVariance log_z_;
  ErrorAuditor errors_;
  CalibrationBins audited_, exact_;
  double kl_uniform_ = 0, nll_raw_ = 0, nll_amortised_ = 0, nll_exact_ = 0, correct_ = 0;
  uint64_t above_one_ = 0, labelled_ = 0, classes_ = 0;
};

}  // namespace

Audit audit(const ModelFile& model, const ExampleSource& source, const AuditOptions& options,
            const std::function<void(uint64_t)>& progress) {
  options.validate();
  if (options.amortised && !model.normalizer.exists())
    throw Error(
        "the model has no amortised normalizer; audit its raw scores, or add one (selfnorm normalize "
        "--amortise)");
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
  return auditor.finish(gauge ? std::optional(gauge->fit()) : std::nullopt);
}

}  // namespace selfnorm

#include "selfnorm/analysis/audit.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "selfnorm/analysis/certificate.h"
#include "selfnorm/analysis/gauge.h"
#include "selfnorm/analysis/quantiles.h"
#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"
#include "selfnorm/model/normalizer_network.h"
#include "selfnorm/normalizer/output_stream.h"

namespace selfnorm {
namespace {

constexpr std::array<double, 11> kQuantiles = {0, 0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999, 1};
constexpr size_t kCalibrationBins = 15;
constexpr double kHistogramTail = 0.005;  // beyond the outermost edges, on each side

// Mean and variance of a stream (Welford 1962).
struct RunningVariance {
  uint64_t n = 0;
  double mean = 0, square = 0;

  void add(double v) {
    ++n;
    const double before = v - mean;
    mean += before / static_cast<double>(n);
    square += before * (v - mean);
  }
  double variance() const { return square / static_cast<double>(n); }
};

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

// The `count` inputs of largest |e| so far, smallest of them first.
class WorstInputs {
 public:
  explicit WorstInputs(size_t count) : count_(count) {}
  void add(uint64_t example, double error) {
    if (count_ == 0 || (heap_.size() == count_ && !ahead({example, error}, heap_.front()))) return;
    heap_.push_back({example, error});
    std::push_heap(heap_.begin(), heap_.end(), ahead);
    if (heap_.size() <= count_) return;
    std::pop_heap(heap_.begin(), heap_.end(), ahead);
    heap_.pop_back();
  }
  std::vector<WorstInput> take() {
    std::sort_heap(heap_.begin(), heap_.end(), ahead);
    return std::move(heap_);
  }

 private:
  static bool ahead(const WorstInput& a, const WorstInput& b) {
    return std::abs(a.error) != std::abs(b.error) ? std::abs(a.error) > std::abs(b.error)
                                                  : a.example < b.example;
  }
  size_t count_;
  std::vector<WorstInput> heap_;
};

std::vector<HistogramBin> histogram_of(const Quantiles& errors, uint32_t bins) {
  const double low = errors.quantile(kHistogramTail), high = errors.quantile(1 - kHistogramTail);
  if (!(low < high)) return {{low, high, errors.count()}};
  std::vector<HistogramBin> out(bins);
  const double width = (high - low) / static_cast<double>(bins);
  for (uint32_t i = 0; i < bins; ++i) out[i] = {low + width * i, low + width * (i + 1), 0};
  errors.for_each([&](double value, uint64_t times) {
    const double place = std::clamp((value - low) / width, 0.0, static_cast<double>(bins - 1));
    out[static_cast<size_t>(place)].count += times;
  });
  return out;
}

Certificate certificate_of(const AuditOptions& options, const Quantiles& sizes, uint64_t exceed) {
  Certificate out{options.eps, options.rho, options.confidence, sizes.count(),
                  exceed,      1,           std::nullopt,       false};
  out.rho_bound = clopper_pearson_upper(exceed, out.n, options.confidence);
  out.certified = out.rho_bound <= options.rho;
  const int64_t allowed = largest_certifiable_count(out.n, options.rho, options.confidence);
  if (allowed >= 0) out.smallest_eps = sizes.order_statistic(out.n - 1 - static_cast<uint64_t>(allowed));
  return out;
}

// Everything that is summed while the blocks stream by.
class Auditor {
 public:
  Auditor(const ModelFile& model, const AuditOptions& options)
      : model_(model), options_(options), worst_(options.worst) {}

  void add(const OutputBlock& block) {
    std::vector<double> b(block.rows.size());
    if (options_.amortised) b = values_of(model_.normalizer, block.data.features);
    for (size_t i = 0; i < block.rows.size(); ++i) add(block.first + i, block.rows[i], b[i]);
  }

  Audit finish(const std::optional<LinearFit>& gauge) {
    const double n = static_cast<double>(log_z_.n);
    Audit out;
    out.n = log_z_.n;
    out.classes = classes_;
    out.log_z = {.mean = errors_of_.mean,
                 .std = std::sqrt(errors_of_.variance()),
                 .rms = std::sqrt(errors_of_.variance() + errors_of_.mean * errors_of_.mean),
                 .min = smallest_,
                 .max = largest_,
                 .q01 = errors_.quantile(0.01),
                 .q50 = errors_.quantile(0.5),
                 .q99 = errors_.quantile(0.99)};
    for (const double q : kQuantiles) out.quantiles.emplace_back(q, errors_.quantile(q));
    out.quantiles.front().second = smallest_;
    out.quantiles.back().second = largest_;
    out.exact_quantiles = errors_.is_exact();
    out.histogram = histogram_of(errors_, options_.bins);
    out.worst = worst_.take();
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
    out.certificate = certificate_of(options_, sizes_, exceed_);
    return out;
  }

 private:
  void add(uint64_t example, const OutputRow& row, double b) {
    const double log_z = row.moments.log_z();
    const double subtracted = model_.log_normalizer + b, error = log_z - subtracted;
    if (!std::isfinite(error))
      throw Error("the amortised normalizer of the model is not finite on these inputs");
    log_z_.add(log_z);
    errors_of_.add(error);
    smallest_ = log_z_.n == 1 ? error : std::min(smallest_, error);
    largest_ = log_z_.n == 1 ? error : std::max(largest_, error);
    errors_.add(error);
    sizes_.add(std::abs(error));
    exceed_ += std::abs(error) > options_.eps ? 1 : 0;
    worst_.add(example, error);
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
  RunningVariance log_z_, errors_of_;
  Quantiles errors_, sizes_;
  WorstInputs worst_;
  CalibrationBins audited_, exact_;
  double smallest_ = 0, largest_ = 0, kl_uniform_ = 0, nll_raw_ = 0, nll_amortised_ = 0, nll_exact_ = 0,
         correct_ = 0;
  uint64_t exceed_ = 0, above_one_ = 0, labelled_ = 0, classes_ = 0;
};

}  // namespace

void AuditOptions::validate() const {
  require_range(eps > 0, "eps", eps, "> 0");
  require_range(rho > 0 && rho < 1, "rho", rho, "0 < x < 1");
  require_range(confidence > 0 && confidence < 1, "confidence", confidence, "0 < x < 1");
  require_range(bins >= 1, "bins", bins, ">= 1");
}

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

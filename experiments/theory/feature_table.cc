#include "experiments/theory/feature_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/kernels.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

double norm_of_row(std::span<const double> v) { return std::sqrt(dot(v.data(), v.data(), v.size())); }

class TableExamples final : public ScoredExamples {
 public:
  TableExamples(const FeatureTable& table, std::span<const double> eta, std::vector<uint32_t> target)
      : table_(table), scores_(scores(table, eta)), target_(std::move(target)), norm_(norm_of_row(eta)) {
    if (target_.size() != table.inputs) {
      throw Error(
          fmt::format("{} targets; expected one for each of {} inputs", target_.size(), table.inputs));
    }
    for (const uint32_t y : target_) {
      if (y >= table.outputs || !table.exists(y)) {
        throw Error(fmt::format("target {} is no output of the table; expected one below {} with h > 0", y,
                                table.outputs));
      }
    }
    for (uint64_t x = 0; x < table.inputs; ++x) {
      for (uint32_t y = 0; y < table.outputs; ++y) radius_ = std::max(radius_, norm_of_row(table(x, y)));
    }
  }

  uint64_t examples() const override { return table_.inputs; }
  double norm() const override { return norm_; }
  double radius() const override { return radius_; }
  void visit(uint64_t begin, uint64_t end,
             const std::function<void(uint64_t, const ScoredExample&)>& sink) const override {
    for (uint64_t x = begin; x < end; ++x) {
      sink(x, {.scores = std::span(scores_).subspan(x * table_.outputs, table_.outputs),
               .log_carrier = table_.log_carrier,
               .target = target_[x]});
    }
  }

 private:
  const FeatureTable& table_;
  std::vector<double> scores_;
  std::vector<uint32_t> target_;
  double norm_, radius_ = 0;
};

}  // namespace

bool FeatureTable::exists(uint32_t y) const {
  return log_carrier.empty() || log_carrier[y] > -std::numeric_limits<double>::infinity();
}

void FeatureTable::validate() const {
  if (inputs == 0 || outputs == 0 || features == 0) {
    throw Error(fmt::format(
        "the feature table has {} inputs, {} outputs and {} features; expected at least one of each", inputs,
        outputs, features));
  }
  if (values.size() != inputs * outputs * features) {
    throw Error(fmt::format("the feature table holds {} values; expected {} x {} x {}", values.size(), inputs,
                            outputs, features));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    const size_t row = i / features;
    throw Error(fmt::format("feature {} of input {}, output {} is {}; expected a finite number", i % features,
                            row / outputs, row % outputs, values[i]));
  }
  if (log_carrier.empty()) return;
  if (log_carrier.size() != outputs) {
    throw Error(
        fmt::format("log h has {} values; expected one for each of {} outputs", log_carrier.size(), outputs));
  }
  bool any = false;
  for (uint32_t y = 0; y < outputs; ++y) {
    if (!(log_carrier[y] < std::numeric_limits<double>::infinity())) {
      throw Error(
          fmt::format("log h of output {} is {}; expected a finite number or -inf", y, log_carrier[y]));
    }
    any = any || exists(y);
  }
  if (!any) throw Error("log h is -inf for every output; expected one output at least");
}

FeatureTable multiclass_table(const DenseMatrix& x, uint32_t classes) {
  const uint64_t features = uint64_t{classes} * x.columns;
  if (features > std::numeric_limits<uint32_t>::max()) {
    throw Error(
        fmt::format("{} classes of {} features are too many for a feature table", classes, x.columns));
  }
  FeatureTable table{.inputs = x.rows,
                     .outputs = classes,
                     .features = static_cast<uint32_t>(features),
                     .values = std::vector<double>(x.rows * classes * features),
                     .log_carrier = {}};
  for (uint64_t i = 0; i < x.rows; ++i) {
    for (uint64_t k = 0; k < classes; ++k) {
      const std::span block(table.values.data() + (i * classes + k) * features + k * x.columns, x.columns);
      std::ranges::copy(x.row(i), block.begin());
    }
  }
  return table;
}

std::vector<double> scores(const FeatureTable& table, std::span<const double> eta) {
  table.validate();
  if (eta.size() != table.features) {
    throw Error(
        fmt::format("eta has {} numbers; expected one for each of {} features", eta.size(), table.features));
  }
  std::vector<double> out(table.inputs * table.outputs);
  for (uint64_t x = 0; x < table.inputs; ++x) {
    for (uint32_t y = 0; y < table.outputs; ++y) {
      const double s = dot(table(x, y).data(), eta.data(), eta.size());
      if (!std::isfinite(s)) {
        throw Error(fmt::format("the score of input {}, output {} is {}; the features or eta are too large",
                                x, y, s));
      }
      out[x * table.outputs + y] = s;
    }
  }
  return out;
}

std::vector<double> log_normalizers(const FeatureTable& table, std::span<const double> eta) {
  const std::vector<double> s = scores(table, eta);
  std::vector<double> out(table.inputs);
  for (uint64_t x = 0; x < table.inputs; ++x) {
    LogSumExp sum;
    for (uint32_t y = 0; y < table.outputs; ++y) {
      if (table.exists(y)) sum.add(table.log_h(y) + s[x * table.outputs + y]);
    }
    out[x] = sum.value();
  }
  return out;
}

std::vector<double> log_probabilities(const FeatureTable& table, std::span<const double> eta) {
  std::vector<double> out = scores(table, eta);
  const std::vector<double> a = log_normalizers(table, eta);
  for (uint64_t i = 0; i < out.size(); ++i) {
    out[i] += table.log_h(static_cast<uint32_t>(i % table.outputs)) - a[i / table.outputs];
  }
  return out;
}

std::unique_ptr<ScoredExamples> scored_examples(const FeatureTable& table, std::span<const double> eta,
                                                std::vector<uint32_t> target) {
  return std::make_unique<TableExamples>(table, eta, std::move(target));
}

}  // namespace selfnorm

#include "api/rows.h"

#include <cmath>
#include <cstring>
#include <filesystem>

#include "audit/audit.h"
#include "base/failure.h"
#include "base/option_table.h"
#include "data/string_index.h"

namespace selfnorm {
namespace {

class RowPoints final : public PointSource {
 public:
  explicit RowPoints(const Rows& x) : x_(x) {}

  uint64_t rows() const override { return x_.rows(); }
  uint32_t columns() const override { return x_.columns(); }
  const std::vector<std::string>& names() const override { return names_; }
  void read(std::span<const uint64_t> rows, std::span<float> out) const override {
    for (size_t i = 0; i < rows.size(); ++i) x_.read(rows[i], out.subspan(i * x_.columns(), x_.columns()));
  }
  std::string fingerprint() const override {
    std::vector<float> row(x_.columns());
    uint64_t hash = x_.columns();
    for (uint64_t i = 0; i < x_.rows(); ++i) {
      x_.read(i, row);
      hash = hash_words(hash, row);
    }
    return fmt::format("{}x{} {:016x}", x_.rows(), x_.columns(), hash);
  }

 private:
  Rows x_;
  std::vector<std::string> names_;
};

}  // namespace

Rows::Rows(std::span<const float> values, uint32_t columns)
    : layout_{.data = values.data(),
              .type = NumberType::float32,
              .rows = columns == 0 ? 0 : values.size() / columns,
              .columns = columns,
              .row_step = static_cast<ptrdiff_t>(columns * sizeof(float)),
              .column_step = sizeof(float)},
      values_(values.size()) {}

double Rows::at(uint64_t row, uint32_t column) const {
  const auto* place = static_cast<const std::byte*>(layout_.data) +
                      static_cast<ptrdiff_t>(row) * layout_.row_step +
                      static_cast<ptrdiff_t>(column) * layout_.column_step;
  const auto value = [place](auto number) {
    std::memcpy(&number, place, sizeof number);
    return static_cast<double>(number);
  };
  return layout_.type == NumberType::float32 ? value(float{}) : value(double{});
}

void Rows::read(uint64_t row, std::span<float> out) const {
  if (layout_.type == NumberType::float32 && layout_.column_step == sizeof(float)) {
    std::memcpy(out.data(),
                static_cast<const std::byte*>(layout_.data) + static_cast<ptrdiff_t>(row) * layout_.row_step,
                layout_.columns * sizeof(float));
  } else {
    for (uint32_t j = 0; j < layout_.columns; ++j) out[j] = static_cast<float>(at(row, j));
  }
  float sum = 0;  // of zeros, unless one is not finite
  for (uint32_t j = 0; j < layout_.columns; ++j) sum += 0 * out[j];
  if (sum == 0) return;
  for (uint32_t j = 0; j < layout_.columns; ++j)
    if (!std::isfinite(out[j]))
      throw_error("row {}, column {} (from 0): found {}; expected finite numbers, no NaN and no infinity",
                  row, j, at(row, j));
}

uint64_t Inputs::rows() const {
  return dense() ? dense()->rows() : sparse() ? sparse()->rows() : texts()->size();
}

void check_shape(const Rows& x) {
  if (x.columns() == 0 || x.rows() == 0 || x.values() != x.rows() * x.columns())
    throw_error("found {} numbers in rows of {} columns; expected whole rows, at least one", x.values(),
                x.columns());
}

void check_rows(const Rows& x) {
  check_shape(x);
  std::vector<float> row(x.columns());
  for (uint64_t i = 0; i < x.rows(); ++i) x.read(i, row);
}

std::unique_ptr<PointSource> make_row_points(const Rows& x) {
  check_shape(x);
  return std::make_unique<RowPoints>(x);
}

std::string model_file_of(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_directory(path, none)) return path;
  const std::string file = path + "/model.safetensors", index = file + ".index.json";  // one, or in shards
  if (!std::filesystem::exists(index, none)) return file;
  if (!std::filesystem::exists(file, none)) return index;
  // A run that was killed before it removed the model it had before.
  const auto time = [&](const std::string& of) { return std::filesystem::last_write_time(of, none); };
  return time(index) > time(file) ? index : file;
}

TrainObserver& observer_of(const Run& run) {
  static TrainObserver silent;
  return run.observer == nullptr ? silent : *run.observer;
}

void check_ending(const RunResult& result, const Run& run) {
  if (result.interrupted)
    throw Stopped(
        run.checkpoint.path.empty()
            ? "training was stopped before it was finished"
            : fmt::format("training was stopped before it was finished; {} resumes it", run.checkpoint.path));
  if (result.diverged)
    observer_of(run).on_warning(
        "training diverged; the model is the last good one (try a smaller learning-rate)");
}

double hold_out_share(const Run& run, double usual) {
  if (!run.hold_out) return usual;
  require_range(*run.hold_out >= 0 && *run.hold_out <= 0.5, option_name("hold-out").c_str(), *run.hold_out,
                "0..0.5");
  return *run.hold_out;
}

void refuse_weights(const Run& run) {
  if (!run.weights.empty())
    throw Error("weights of examples are for classifiers and regressors; expected none");
}

AuditReport audit_report(const Audit& audit, bool is_amortised) {
  const Certificate& certificate = audit.certificate;
  AuditReport out{.kind = is_amortised ? "amortised" : "raw",
                  .rows = audit.n,
                  .mean = audit.log_z.mean,
                  .deviation = audit.log_z.std,
                  .rms = audit.log_z.rms,
                  .least = audit.log_z.min,
                  .largest = audit.log_z.max,
                  .quantiles = audit.quantiles,
                  .eps = certificate.eps,
                  .rho = certificate.rho,
                  .confidence = certificate.confidence,
                  .exceed = certificate.exceed,
                  .rho_bound = certificate.rho_bound,
                  .smallest_eps = certificate.smallest_eps,
                  .certified = certificate.certified,
                  .variance = audit.variance,
                  .lossless_variance = audit.v_star,
                  .nll_exact = {},
                  .nll_given = {},
                  .accuracy = {}};
  if (audit.labelled) {
    out.nll_exact = audit.labelled->nll_exact;
    out.nll_given = audit.labelled->nll_amortised.value_or(audit.labelled->nll_raw);
    out.accuracy = audit.labelled->accuracy;
  }
  return out;
}

}  // namespace selfnorm

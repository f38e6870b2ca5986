#include "normalizer/device_linear.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "math/kernels.h"
#include "math/parallel.h"
#include "normalizer/enumeration.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kLinearSheetBytes = uint64_t{1} << 30;
constexpr uint64_t kLinearWorthSending = uint64_t{1} << 28;  // products of a pass over the scores

uint64_t entries_of(const Features& x) {
  return x.is_sparse ? x.sparse.column.size() : x.dense.values.size();
}

// The rows of a sparse matrix by columns.
struct ByColumns {
  std::vector<uint64_t> begin;
  std::vector<uint32_t> row;
  std::vector<float> value;

  explicit ByColumns(const SparseMatrix& x)
      : begin(size_t{x.columns} + 1), row(x.column.size()), value(x.column.size()) {
    for (const uint32_t j : x.column) ++begin[j + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<uint64_t> next(begin.begin(), begin.end() - 1);
    for (uint64_t i = 0; i < x.rows(); ++i) {
      for (uint64_t p = x.begin[i]; p < x.begin[i + 1]; ++p) {
        const uint64_t to = next[x.column[p]]++;
        row[to] = static_cast<uint32_t>(i);
        value[to] = x.value[p];
      }
    }
  }
};

class DevicePass final : public ExactPass<float> {
 public:
  DevicePass(const GpuDevice& device, const Dataset& data, uint32_t features, uint32_t classes,
             std::span<const float> log_carrier)
      : linear_(device, classes, features, log_carrier),
        here_(Multiclass<float>(data.features, classes, features, log_carrier), data.target) {
    linear_.load(data.features, data.target, nullptr);
    note_use(device);
  }

  uint64_t examples() const override { return here_.examples(); }
  size_t parameters() const override { return here_.parameters(); }
  size_t gradient_size() const override { return here_.gradient_size(); }
  std::string device() const override { return linear_.device().name(); }

  // Where some examples are not normalised the CPU does all.
  void run(std::span<const float> theta, uint64_t normalised, const Visit& visit,
           std::span<float> gradient) const override {
    if (normalised < examples()) return here_.run(theta, normalised, visit, gradient);
    linear_.put_theta(theta);
    linear_.run(visit, !gradient.empty());
    if (gradient.empty()) return;
    std::vector<float> found;
    linear_.get_gradient(found);
    constexpr size_t kGrain = 1 << 16;
    parallel_ranges(found.size(), kGrain, [&](size_t begin, size_t end) {
      add_scaled(1.0f, found.data() + begin, gradient.data() + begin, end - begin);
    });
  }
  void summarise(std::span<const float> theta,
                 const std::function<void(uint64_t, const OutputSummary&)>& sink) const override {
    linear_.put_theta(theta);
    linear_.summarise(sink);
  }

 private:
  mutable DeviceLinear linear_;  // its buffers
  Enumeration<float> here_;
};

}  // namespace

void GrowingMemory::grow(size_t bytes) {
  memory_.reset();  // first, for both may not fit
  bytes_ = 0;
  memory_ = std::make_unique<GpuMemory>(device_, bytes);
  bytes_ = bytes;
}

DeviceLinear::DeviceLinear(const GpuDevice& device, uint32_t classes, uint32_t features,
                           std::span<const float> log_carrier)
    : device_(device),
      classes_(classes),
      features_(features),
      theta_(device, (size_t{features} + 1) * classes * sizeof(float)),
      carrier_(device, std::max<size_t>(1, log_carrier.size()) * sizeof(float)),
      dense_(device),
      row_begin_(device),
      column_(device),
      value_(device),
      column_begin_(device),
      row_(device),
      row_value_(device),
      feature_(device),
      target_(device),
      moments_(device),
      better_(device),
      by_(device),
      gradient_(device),
      workspace_(device) {
  device.must(device.module().selfnorm_cuda_upload(device.context(), carrier_.get(), SELFNORM_F32,
                                                   log_carrier.data(), log_carrier.size()));
  step_.size = sizeof(step_);
  step_.classes = static_cast<int64_t>(classes_);
  step_.theta = theta_.get<float>();
  step_.bias = step_.theta + features_ * classes_;
  step_.carrier = log_carrier.empty() ? nullptr : carrier_.get<float>();
}

void DeviceLinear::load(const Features& x, std::span<const uint32_t> target, const FeatureMap* map) {
  SELFNORM_CHECK(target.size() == x.rows());
  rows_ = x.rows();
  columns_ = x.columns();
  step_.columns = static_cast<int64_t>(columns_);
  step_.feature = nullptr;
  if (x.is_sparse) {
    const ByColumns columns(x.sparse);
    step_.row_begin = row_begin_.put(x.sparse.begin);
    step_.column = column_.put(x.sparse.column);
    step_.value = value_.put(x.sparse.value);
    step_.column_begin = column_begin_.put(columns.begin);
    step_.row = row_.put(columns.row);
    step_.row_value = row_value_.put(columns.value);
    if (map != nullptr && !map->feature.empty()) step_.feature = feature_.put(map->feature);
  } else {
    float* const there = dense_.get<float>(x.dense.values.size());
    device_.must(device_.module().selfnorm_cuda_upload(device_.context(), there, SELFNORM_F32,
                                                       x.dense.values.data(), x.dense.values.size()));
    step_.dense = there;
  }
  step_.target = target_.put(std::vector<int64_t>(target.begin(), target.end()));
  const uint64_t most = rows_at_once();
  step_.count = static_cast<int64_t>(most);
  step_.workspace_bytes = device_.module().selfnorm_linear_workspace(&step_);
  step_.workspace = workspace_.get<char>(step_.workspace_bytes);
  step_.moments = moments_.get<double>(most * 5);
  step_.better = better_.get<int64_t>(most);
  step_.gradient = gradient_.get<float>(gradient_size());
  by_.get<double>(2 * most);
}

void DeviceLinear::put_theta(std::span<const float> theta) {
  const size_t count = (features_ + 1) * classes_;
  SELFNORM_CHECK(theta.size() >= count);
  device_.must(device_.module().selfnorm_cuda_upload(device_.context(), theta_.get(), SELFNORM_F32,
                                                     theta.data(), count));
}

void DeviceLinear::get_theta(std::span<float> theta) const {
  device_.must(device_.module().selfnorm_cuda_to_host(device_.context(), theta.data(), theta_.get(),
                                                      (features_ + 1) * classes_ * sizeof(float)));
}

void DeviceLinear::get_gradient(std::vector<float>& gradient) const {
  gradient.resize(gradient_size());
  device_.must(device_.module().selfnorm_cuda_to_host(device_.context(), gradient.data(), step_.gradient,
                                                      gradient.size() * sizeof(float)));
}

// A multiple of kGranule, whose examples are visited together.
uint64_t DeviceLinear::rows_at_once() const {
  const uint64_t fit = kLinearSheetBytes / (classes_ * sizeof(float)) / kGranule * kGranule;
  return std::min(rows_, std::max(kGranule, fit));
}

void DeviceLinear::score(uint64_t first, uint64_t count, bool counts_better) {
  step_.first = static_cast<int64_t>(first);
  step_.count = static_cast<int64_t>(count);
  step_.better = counts_better ? better_.get<int64_t>(count) : nullptr;
  device_.must(device_.module().selfnorm_linear_scores(device_.context(), &step_));
  host_moments_.resize(count * 5);
  device_.must(device_.module().selfnorm_cuda_to_host(device_.context(), host_moments_.data(), step_.moments,
                                                      host_moments_.size() * sizeof(double)));
  if (!counts_better) return;
  host_better_.resize(count);
  device_.must(device_.module().selfnorm_cuda_to_host(device_.context(), host_better_.data(), step_.better,
                                                      count * sizeof(int64_t)));
}

void DeviceLinear::run(const Visit& visit, bool wants_gradient) {
  for (uint64_t first = 0; first < rows_; first += rows_at_once()) {
    const uint64_t count = std::min(rows_at_once(), rows_ - first);
    score(first, count, false);
    host_by_.resize(2 * count);
    parallel_ranges(count, kGranule, [&](size_t begin, size_t end) {
      for (uint64_t i = begin; i < end; ++i) {
        const double* const m = host_moments_.data() + i * 5;
        const ScoreDerivatives d = visit(first + i, m[4], m[0] + std::log(m[1]));
        host_by_[i] = d.score;
        host_by_[count + i] = d.log_z;
      }
    });
    if (!wants_gradient) continue;
    step_.by_score = by_.put(host_by_);
    step_.by_log_z = step_.by_score + count;
    step_.is_added = first > 0 ? 1 : 0;
    device_.must(device_.module().selfnorm_linear_gradient(device_.context(), &step_));
  }
}

void DeviceLinear::summarise(const std::function<void(uint64_t, const OutputSummary&)>& sink) {
  for (uint64_t first = 0; first < rows_; first += rows_at_once()) {
    const uint64_t count = std::min(rows_at_once(), rows_ - first);
    score(first, count, true);
    parallel_ranges(count, kGranule, [&](size_t begin, size_t end) {
      for (uint64_t i = begin; i < end; ++i) {
        const double* const m = host_moments_.data() + i * 5;
        sink(first + i,
             summary_of({{m[0], m[1]}, m[2], 0}, m[4], static_cast<uint64_t>(host_better_[i]), classes_));
      }
    });
  }
}

bool is_worth_sending(const Features& x, uint32_t classes) {
  return entries_of(x) * classes >= kLinearWorthSending;
}

std::unique_ptr<ExactPass<float>> make_device_pass(const Dataset& data, uint32_t features, uint32_t classes,
                                                   std::span<const float> log_carrier) {
  if (data.is_joint() || data.examples() == 0) return nullptr;
  const DeviceChoice choice = chosen_device();
  if (choice.device == nullptr) return nullptr;
  if (!choice.is_required && !is_worth_sending(data.features, classes)) return nullptr;
  try {
    return std::make_unique<DevicePass>(*choice.device, data, features, classes, log_carrier);
  } catch (const Error&) {
    if (choice.is_required) throw;
    return nullptr;  // it does not fit
  }
}

}  // namespace selfnorm

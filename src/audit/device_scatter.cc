#include "audit/device_scatter.h"

#include <algorithm>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint32_t kColumnsWorthSending = 512;
constexpr uint64_t kScatterWorkspace = 32u << 20;  // as selfnorm_scatter_add says

}  // namespace

std::shared_ptr<DeviceScatter> DeviceScatter::on_chosen_device(uint32_t columns) {
  const DeviceChoice choice = chosen_device();
  if (choice.device == nullptr || (!choice.is_required && columns < kColumnsWorthSending)) return nullptr;
  return std::make_shared<DeviceScatter>(*choice.device, columns);
}

DeviceScatter::DeviceScatter(const GpuDevice& device, uint32_t columns)
    : device_(device),
      columns_(columns),
      x_(device, kRows * columns_ * sizeof(float)),
      y_(device, kRows * sizeof(double)),
      shift_there_(device, (columns_ + 1) * sizeof(double)),
      room_(device, kRows * (columns_ + 2) * sizeof(double)),
      sums_(device, (columns_ + 2) * (columns_ + 2) * sizeof(double)),
      workspace_(device, kScatterWorkspace) {}

void DeviceScatter::add(const Features& x, std::span<const double> y) {
  SELFNORM_CHECK(!x.is_sparse && x.columns() == columns_ && x.rows() == y.size());
  const GpuModule& module = device_.module();
  selfnorm_cuda_context* const context = device_.context();
  for (uint64_t first = 0; first < y.size(); first += kRows) {
    const uint64_t count = std::min(kRows, y.size() - first);
    const float* const rows = x.dense.row(first).data();
    if (shift_.empty()) {
      shift_.assign(columns_ + 1, 0);
      for (uint64_t i = 0; i < count; ++i) {
        for (uint64_t j = 0; j < columns_; ++j) shift_[j] += static_cast<double>(rows[i * columns_ + j]);
        shift_[columns_] += y[first + i];
      }
      for (double& s : shift_) s /= static_cast<double>(count);
      device_.must(module.selfnorm_cuda_to_device(context, shift_there_.get(), shift_.data(),
                                                  shift_.size() * sizeof(double)));
    }
    device_.must(module.selfnorm_cuda_upload(context, x_.get(), SELFNORM_F32, rows, count * columns_));
    device_.must(module.selfnorm_cuda_to_device(context, y_.get(), y.data() + first, count * sizeof(double)));
    device_.must(module.selfnorm_scatter_add(context, x_.get<float>(), y_.get<double>(),
                                             shift_there_.get<double>(), static_cast<int64_t>(count),
                                             static_cast<int64_t>(columns_), room_.get<double>(),
                                             sums_.get<double>(), rows_ == 0 ? 1 : 0, workspace_.get()));
    rows_ += count;
  }
}

// With t = sum (x - shift) and n rows: mean = shift + t / n and S = sum (x - shift)(x - shift)' - t t' / n.
ScatterSums DeviceScatter::sums() const {
  const uint64_t p = columns_ + 2;
  std::vector<double> raw(p * p);
  device_.must(device_.module().selfnorm_cuda_to_host(device_.context(), raw.data(), sums_.get(),
                                                      raw.size() * sizeof(double)));
  const double n = static_cast<double>(rows_);
  const auto total = [&](uint64_t j) { return raw[j * p + p - 1]; };
  const auto about_means = [&](uint64_t i, uint64_t j) { return raw[j * p + i] - total(i) * total(j) / n; };
  ScatterSums out;
  out.rows = rows_;
  out.mean_y = shift_[columns_] + total(columns_) / n;
  out.square = about_means(columns_, columns_);
  out.scatter.resize(columns_ * columns_);
  for (uint64_t j = 0; j < columns_; ++j) {
    out.mean_x.push_back(shift_[j] + total(j) / n);
    out.cross.push_back(about_means(columns_, j));
    for (uint64_t i = j; i < columns_; ++i) out.scatter[j * columns_ + i] = about_means(i, j);
  }
  return out;
}

}  // namespace selfnorm

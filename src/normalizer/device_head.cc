#include "normalizer/device_head.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "math/parallel.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kSheetBytes = uint64_t{1} << 30;
constexpr uint64_t kWorthSending = uint64_t{1} << 22;  // weights
constexpr int kParts = 3;
constexpr int64_t kNoDeviceTarget = -1;

bool are_bfloat16(std::span<const float> values) {
  constexpr size_t kGrain = 1 << 20;
  std::vector<char> good((values.size() + kGrain - 1) / kGrain);
  parallel_ranges(values.size(), kGrain, [&](size_t begin, size_t end) {
    good[begin / kGrain] = std::all_of(values.begin() + static_cast<ptrdiff_t>(begin),
                                       values.begin() + static_cast<ptrdiff_t>(end),
                                       [](float x) { return (std::bit_cast<uint32_t>(x) & 0xFFFFu) == 0; });
  });
  return std::ranges::all_of(good, [](char x) { return x != 0; });
}

selfnorm_head_step moments_step(uint64_t classes, uint64_t features, int type) {
  selfnorm_head_step step = {};
  step.size = sizeof(step);
  step.classes = static_cast<int64_t>(classes);
  step.weight_stride = static_cast<int64_t>(features);
  step.type = type;
  step.sheet_type = SELFNORM_F32;
  step.options.logit_scale = 1;
  step.options.ignore_index = kNoDeviceTarget;
  return step;
}

uint64_t workspace_bytes(const GpuDevice& device, uint64_t classes, uint64_t features, int type) {
  selfnorm_head_step step = moments_step(classes, features, type);
  step.rows = static_cast<int64_t>(DeviceHead::kRows);
  return device.module().selfnorm_head_workspace(&step, kSheetBytes);
}

}  // namespace

struct DeviceHead::Buffers {
  GpuMemory weight, bias, carrier, states, parts, target, moments, best, better, workspace;
  bool has_carrier;
  uint64_t workspace_size;

  Buffers(const GpuDevice& device, const ModelFile& model, int type)
      : weight(device, model.weight.size() * (type == SELFNORM_F32 ? 4 : 2)),
        bias(device, model.bias.size() * sizeof(float)),
        carrier(device, std::max<size_t>(1, model.log_carrier.size()) * sizeof(float)),
        states(device, kRows * model.features * sizeof(float)),
        parts(device, type == SELFNORM_F32 ? 16 : kParts * kRows * model.features * 2),
        target(device, kRows * sizeof(int64_t)),
        moments(device, kRows * 5 * sizeof(double)),
        best(device, kRows * sizeof(int64_t)),
        better(device, kRows * sizeof(int64_t)),
        workspace(device, workspace_bytes(device, model.classes, model.features, type)),
        has_carrier(!model.log_carrier.empty()),
        workspace_size(workspace_bytes(device, model.classes, model.features, type)) {}
};

DeviceHead::DeviceHead(const GpuDevice& device, const ModelFile& model)
    : device_(device),
      classes_(model.classes),
      features_(model.features),
      type_(are_bfloat16(model.weight) ? SELFNORM_BF16 : SELFNORM_F32),
      buffers_(std::make_unique<Buffers>(device, model, type_)) {
  const auto upload = [&](const GpuMemory& to, int type, const std::vector<float>& values) {
    device.must(
        device.module().selfnorm_cuda_upload(device.context(), to.get(), type, values.data(), values.size()));
  };
  upload(buffers_->weight, type_, model.weight);
  upload(buffers_->bias, SELFNORM_F32, model.bias);
  upload(buffers_->carrier, SELFNORM_F32, model.log_carrier);
  note_use(device);
}

DeviceHead::~DeviceHead() = default;

std::unique_ptr<DeviceHead> DeviceHead::on_chosen_device(const ModelFile& model) {
  const DeviceChoice choice = chosen_device();
  if (choice.device == nullptr) return nullptr;
  const uint64_t needed = model.weight.size() * 4 + (uint64_t{4} << 30);
  if (!choice.is_required && (model.weight.size() < kWorthSending || needed > choice.device->free_bytes()))
    return nullptr;
  return std::unique_ptr<DeviceHead>(new DeviceHead(*choice.device, model));
}

void DeviceHead::send(const Features& rows, uint64_t first, uint64_t count, selfnorm_head_step& step) const {
  const GpuModule& module = device_.module();
  const std::span<const float> values(rows.dense.row(first).data(), count * rows.columns());
  step.rows = static_cast<int64_t>(count);
  step.dim = step.state_stride = rows.columns();
  device_.must(module.selfnorm_cuda_upload(device_.context(), buffers_->states.get(), SELFNORM_F32,
                                           values.data(), values.size()));
  step.states = buffers_->states.get();
  if (type_ == SELFNORM_F32) return;
  step.parts = are_bfloat16(values) ? 1 : kParts;
  device_.must(module.selfnorm_split_states(device_.context(), buffers_->states.get<float>(),
                                            static_cast<int64_t>(values.size()), buffers_->parts.get(),
                                            static_cast<int32_t>(step.parts), nullptr));
  step.states = buffers_->parts.get();
}

selfnorm_head_step DeviceHead::step_for(const Features& rows, uint64_t first, uint64_t count) const {
  selfnorm_head_step step = moments_step(classes_, features_, type_);
  send(rows, first, count, step);
  step.weight = buffers_->weight.get();
  step.bias = buffers_->bias.get<float>();
  step.carrier = buffers_->has_carrier ? buffers_->carrier.get<float>() : nullptr;
  step.moments = buffers_->moments.get<double>();
  step.workspace = buffers_->workspace.get();
  step.workspace_bytes = buffers_->workspace_size;
  return step;
}

HeadDifference DeviceHead::difference(const DeviceHead& other, const Features& rows) const {
  SELFNORM_CHECK(&device_ == &other.device_ && classes_ == other.classes_ && !rows.is_sparse);
  const GpuMemory there(device_, kRows * 3 * sizeof(double));
  HeadDifference out;
  for (uint64_t first = 0; first < rows.rows(); first += kRows) {
    const uint64_t count = std::min(kRows, rows.rows() - first);
    const selfnorm_head_step p = step_for(rows, first, count), q = other.step_for(rows, first, count);
    device_.must(device_.module().selfnorm_head_difference(device_.context(), &p, &q,
                                                           HeadDifference::kVisible, there.get<double>()));
    std::vector<double> found(count * 3);
    device_.must(device_.module().selfnorm_cuda_to_host(device_.context(), found.data(), there.get(),
                                                        found.size() * sizeof(double)));
    for (uint64_t i = 0; i < count; ++i) out.add({found[i * 3], found[i * 3 + 1], found[i * 3 + 2]});
  }
  return out;
}

std::vector<float> DeviceHead::log_probs(const Features& rows, std::span<const uint32_t> classes) const {
  SELFNORM_CHECK(!rows.is_sparse && !classes.empty());
  const uint64_t each = classes.size(), at_once = std::min(kRows, rows.rows());
  const GpuModule& module = device_.module();
  std::vector<int64_t> chosen;
  for (uint64_t i = 0; i < at_once; ++i) chosen.insert(chosen.end(), classes.begin(), classes.end());
  const GpuMemory chosen_there(device_, chosen.size() * sizeof(int64_t)),
      found(device_, chosen.size() * sizeof(float));
  device_.must(module.selfnorm_cuda_to_device(device_.context(), chosen_there.get(), chosen.data(),
                                              chosen.size() * sizeof(int64_t)));
  std::vector<float> out(rows.rows() * each);
  for (uint64_t first = 0; first < rows.rows(); first += kRows) {
    const uint64_t count = std::min(kRows, rows.rows() - first);
    selfnorm_head_step step = step_for(rows, first, count);
    step.selected = chosen_there.get<int64_t>();
    step.picks = static_cast<int64_t>(each);
    step.selected_log_p = found.get<float>();
    device_.must(module.selfnorm_head_run(device_.context(), &step));
    device_.must(module.selfnorm_cuda_to_host(device_.context(), out.data() + first * each, found.get(),
                                              count * each * sizeof(float)));
  }
  return out;
}

std::vector<float> DeviceHead::cluster_masses(const Features& rows, std::span<const uint32_t> order,
                                              std::span<const uint32_t> begin) const {
  SELFNORM_CHECK(!rows.is_sparse && order.size() == classes_ && begin.size() >= 2);
  const uint64_t clusters = begin.size() - 1;
  const GpuModule& module = device_.module();
  const GpuMemory order_there(device_, order.size_bytes()), begin_there(device_, begin.size_bytes()),
      found(device_, kRows * clusters * sizeof(float));
  device_.must(
      module.selfnorm_cuda_to_device(device_.context(), order_there.get(), order.data(), order.size_bytes()));
  device_.must(
      module.selfnorm_cuda_to_device(device_.context(), begin_there.get(), begin.data(), begin.size_bytes()));
  std::vector<float> out(rows.rows() * clusters);
  for (uint64_t first = 0; first < rows.rows(); first += kRows) {
    const uint64_t count = std::min(kRows, rows.rows() - first);
    const selfnorm_head_step step = step_for(rows, first, count);
    device_.must(module.selfnorm_head_masses(device_.context(), &step, order_there.get<uint32_t>(),
                                             begin_there.get<uint32_t>(), static_cast<int64_t>(clusters),
                                             found.get<float>(), nullptr));
    device_.must(module.selfnorm_cuda_to_host(device_.context(), out.data() + first * clusters, found.get(),
                                              count * clusters * sizeof(float)));
  }
  return out;
}

std::vector<double> DeviceHead::mean_shares(const Features& rows) const {
  SELFNORM_CHECK(!rows.is_sparse);
  const GpuMemory there(device_, classes_ * sizeof(double));
  std::vector<double> out(classes_), some(classes_);
  for (uint64_t first = 0; first < rows.rows(); first += kRows) {
    const selfnorm_head_step step = step_for(rows, first, std::min(kRows, rows.rows() - first));
    device_.must(device_.module().selfnorm_head_masses(device_.context(), &step, nullptr, nullptr, 0, nullptr,
                                                       there.get<double>()));
    device_.must(device_.module().selfnorm_cuda_to_host(device_.context(), some.data(), there.get(),
                                                        classes_ * sizeof(double)));
    for (uint64_t k = 0; k < classes_; ++k) out[k] += some[k] / static_cast<double>(rows.rows());
  }
  return out;
}

DeviceMoments DeviceHead::moments(const Features& rows, std::span<const uint32_t> target) const {
  SELFNORM_CHECK(!rows.is_sparse && rows.columns() <= features_);
  SELFNORM_CHECK(target.empty() || target.size() == rows.rows());
  const GpuModule& module = device_.module();
  selfnorm_cuda_context* const context = device_.context();
  DeviceMoments out;
  out.rows.resize(rows.rows());
  out.target_score.resize(target.size());
  out.better.resize(target.size());
  for (uint64_t first = 0; first < rows.rows(); first += kRows) {
    const uint64_t count = std::min(kRows, rows.rows() - first);
    selfnorm_head_step step = step_for(rows, first, count);
    if (!target.empty()) {
      std::vector<int64_t> chosen(count);
      for (uint64_t i = 0; i < count; ++i)
        chosen[i] = target[first + i] < classes_ ? static_cast<int64_t>(target[first + i]) : kNoDeviceTarget;
      device_.must(module.selfnorm_cuda_to_device(context, buffers_->target.get(), chosen.data(),
                                                  count * sizeof(int64_t)));
      step.target = buffers_->target.get<int64_t>();
      step.better = buffers_->better.get<int64_t>();
    }
    step.best = buffers_->best.get<int64_t>();
    device_.must(module.selfnorm_head_run(context, &step));
    std::vector<double> moments(count * 5);
    std::vector<int64_t> best(count), better(count);
    device_.must(
        module.selfnorm_cuda_to_host(context, moments.data(), step.moments, count * 5 * sizeof(double)));
    device_.must(module.selfnorm_cuda_to_host(context, best.data(), step.best, count * sizeof(int64_t)));
    if (!target.empty())
      device_.must(
          module.selfnorm_cuda_to_host(context, better.data(), step.better, count * sizeof(int64_t)));
    for (uint64_t i = 0; i < count; ++i) {
      const double* const m = moments.data() + i * 5;
      out.rows[first + i] = {{m[0], m[1]}, m[2], static_cast<uint64_t>(best[i])};
      if (target.empty()) continue;
      out.target_score[first + i] = m[4];
      out.better[first + i] = static_cast<uint64_t>(better[i]);
    }
  }
  return out;
}

}  // namespace selfnorm

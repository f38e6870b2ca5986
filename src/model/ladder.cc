#include "model/ladder.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "model/model_file.h"
#include "model/safetensors_writer.h"
#include "model/stored_record.h"
#include "selfnorm/runtime/safetensors.h"

namespace selfnorm {
namespace {

using runtime::Dtype;

std::vector<float> copy_of(std::span<const float> values) { return {values.begin(), values.end()}; }

nlohmann::ordered_json rung_json(const Rung& rung) {
  nlohmann::ordered_json out = {
      {"name", rung.name}, {"kind", runtime::name(rung.kind)}, {"cost", rung.cost}, {"rms", rung.rms}};
  if (std::isfinite(rung.eps)) out["eps"] = rung.eps;
  out["rho"] = rung.rho;
  out["conf"] = rung.conf;
  if (rung.kind == RungKind::Nearest) out["stop"] = rung.stop;
  return out;
}

}  // namespace

std::string rungs_json(const std::vector<Rung>& rungs, const runtime::Promise& promise) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Rung& rung : rungs) all.push_back(rung_json(rung));
  nlohmann::ordered_json out = {{"rungs", all}};
  if (promise != runtime::Promise())
    out.update({{"within", promise.within}, {"rho", promise.rho}, {"conf", promise.conf}});
  return out.dump();
}

std::string ladder_json(const Ladder& ladder) {
  return rungs_json({ladder.rungs.begin(), ladder.rungs.end()}, ladder.promise);
}

std::vector<runtime::Tensor> ladder_tensors(const Ladder& ladder, uint32_t features) {
  std::vector<runtime::Tensor> out;
  const auto add = [&out]<class T>(const std::string& name, Dtype dtype, std::span<const T> values,
                                   std::vector<uint64_t> shape) {
    if (!values.empty()) out.push_back(make_tensor("ladder." + name, dtype, std::move(shape), values));
  };
  const auto floats = [&](const std::string& name, const std::vector<float>& values,
                          std::vector<uint64_t> shape) {
    add(name, Dtype::F32, std::span<const float>(values), std::move(shape));
  };
  for (const LadderRung& rung : ladder.rungs) {
    if (rung.kind == RungKind::Raw || rung.kind == RungKind::Exact || rung.name == "amortised") continue;
    const uint64_t m = rung.b.output.size();
    add(rung.name + ".intercept", Dtype::F64, std::span(&rung.b.intercept, 1), {1});
    floats(rung.name + ".slope", rung.b.slope, {features});
    floats(rung.name + ".hidden_weight", rung.b.hidden_weight, {m, features});
    floats(rung.name + ".hidden_bias", rung.b.hidden_bias, {m});
    floats(rung.name + ".output", rung.b.output, {m});
    floats(rung.name + ".extra", rung.extra, {m, runtime::kTailExtras});
  }
  const ClassClusters& c = ladder.clusters;
  floats("centroid", c.centroid, {uint64_t{features} + 1, c.clusters()});
  floats("norm", c.norm, {1});
  floats("mass", c.mass, {c.clusters()});
  floats("scatter", c.scatter, {c.clusters()});
  floats("bias", c.bias, {c.bias.size()});
  if (!c.rows.empty())
    add("rows", Dtype::BF16, std::span<const uint16_t>(c.rows), {c.order.size(), features});
  add("begin", Dtype::U32, std::span<const uint32_t>(c.begin), {c.begin.size()});
  add("order", Dtype::U32, std::span<const uint32_t>(c.order), {c.order.size()});
  return out;
}

runtime::NormalizerLayout layout_of(const AmortisedNormalizer& b) {
  return {std::span(&b.intercept, 1), b.slope, b.hidden_weight, b.hidden_bias, b.output};
}

runtime::LadderLayout layout_of(const Ladder& ladder, const runtime::NormalizerLayout& normalizer) {
  runtime::LadderLayout out;
  out.promise = ladder.promise;
  for (const LadderRung& rung : ladder.rungs) {
    runtime::RungLayout layout;
    static_cast<Rung&>(layout) = rung;
    layout.b = rung.name == "amortised" ? normalizer : layout_of(rung.b);
    layout.extra = rung.extra;
    out.rungs.push_back(std::move(layout));
  }
  const ClassClusters& c = ladder.clusters;
  out.clusters = {c.centroid, c.mass, c.scatter, c.norm, c.bias, c.begin, c.order, c.rows};
  return out;
}

AmortisedNormalizer normalizer_of(const runtime::NormalizerLayout& layout) {
  if (!layout.exists()) return {};
  return {.intercept = layout.intercept[0],
          .slope = copy_of(layout.slope),
          .hidden_weight = copy_of(layout.hidden_weight),
          .hidden_bias = copy_of(layout.hidden_bias),
          .output = copy_of(layout.output)};
}

Ladder ladder_of(const runtime::LadderLayout& layout) {
  Ladder out;
  out.promise = layout.promise;
  for (const runtime::RungLayout& rung : layout.rungs) {
    LadderRung copied;
    static_cast<Rung&>(copied) = rung;
    if (rung.name != "amortised") copied.b = normalizer_of(rung.b);
    copied.extra = copy_of(rung.extra);
    out.rungs.push_back(std::move(copied));
  }
  const runtime::ClusterLayout& c = layout.clusters;
  out.clusters.centroid = copy_of(c.centroid);
  out.clusters.mass = copy_of(c.mass);
  out.clusters.scatter = copy_of(c.scatter);
  out.clusters.norm = copy_of(c.norm);
  out.clusters.bias = copy_of(c.bias);
  out.clusters.begin.assign(c.begin.begin(), c.begin.end());
  out.clusters.order.assign(c.order.begin(), c.order.end());
  out.clusters.rows.assign(c.rows.begin(), c.rows.end());
  return out;
}

std::string ladder_bytes(const Ladder& ladder, uint32_t features) {
  std::vector<runtime::Tensor> tensors = ladder_tensors(ladder, features);
  std::string out = safetensors_header(tensors, {{"ladder", ladder_json(ladder)}});
  for (const runtime::Tensor& tensor : tensors)
    out.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  return out;
}

Ladder parse_ladder(std::span<const std::byte> bytes, const std::string& place, const ModelFile& model) {
  const std::vector<std::byte> aligned(bytes.begin(), bytes.end());  // as a file is
  return with_plain_errors([&] {
    const runtime::Safetensors parsed = runtime::parse_safetensors(aligned, place);
    std::vector<std::string> known;
    const runtime::NormalizerLayout b =
        model.normalizer.exists() ? layout_of(model.normalizer) : runtime::NormalizerLayout{};
    const runtime::LadderLayout layout =
        runtime::read_ladder({parsed, place, model.classes, model.features, b}, known);
    runtime::check_ladder(layout, model.classes, place);
    return ladder_of(layout);
  });
}

runtime::ModelLayout layout_of(const ModelFile& model) {
  runtime::ModelLayout out;
  out.family = model.family;
  out.input = model.input;
  out.classes = model.classes;
  out.features = model.features;
  out.log_normalizer = model.log_normalizer;
  out.weight_f32 = model.weight;
  out.bias = model.bias;
  out.log_carrier = model.log_carrier;
  if (model.normalizer.exists()) out.normalizer = layout_of(model.normalizer);
  out.ladder = layout_of(model.ladder, out.normalizer);
  return out;
}

}  // namespace selfnorm

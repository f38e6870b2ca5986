#include "selfnorm/head.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "api/inputs.h"
#include "api/rows.h"
#include "base/failure.h"
#include "family/classifier/normalize/normalization.h"
#include "math/parallel.h"
#include "model/head/head_file.h"
#include "normalizer/output_stream.h"
#include "selfnorm/runtime/scorer.h"

namespace selfnorm {
namespace {

constexpr uint64_t kStatesAtOnce = 64;

void check_head(const Rows& weight, std::span<const float> bias, const Rows& states) {
  check_shape(weight);
  check_shape(states);
  if (states.columns() != weight.columns())
    throw_error("found states of {} numbers and weights of {}; expected the same", states.columns(),
                weight.columns());
  if (!bias.empty() && bias.size() != weight.rows())
    throw_error("found {} biases for {} rows of weights; expected one each, or none", bias.size(),
                weight.rows());
}

ModelFile head_model(const Rows& weight, std::span<const float> bias, const Rows& states) {
  check_head(weight, bias, states);
  ModelFile model;
  model.input = ModelInput::Dense;
  model.classes = static_cast<uint32_t>(weight.rows());
  model.features = weight.columns();
  model.weight.resize(weight.rows() * weight.columns());
  for (uint64_t k = 0; k < weight.rows(); ++k)
    weight.read(k, std::span(model.weight).subspan(k * weight.columns(), weight.columns()));
  model.bias.assign(weight.rows(), 0);
  for (size_t k = 0; k < bias.size(); ++k) {
    if (!std::isfinite(bias[k])) throw_error("bias {} (from 0) is {}; expected finite numbers", k, bias[k]);
    model.bias[k] = bias[k];
  }
  return model;
}

HeadKind stored_kind(HeadType type) {
  return type == HeadType::bfloat16  ? HeadKind::Bfloat16
         : type == HeadType::float16 ? HeadKind::Float16
                                     : HeadKind::Float32;
}

void check_head_options(const HeadOptions& given) {
  require_range(given.hold_out > 0 && given.hold_out <= 0.5, "hold_out", given.hold_out,
                "more than 0, at most 0.5");
}

HeadRung public_rung(const MeasuredRung& from) {
  HeadRung out{.name = from.name,
               .kind = std::string(runtime::name(from.kind)),
               .cost = from.cost,
               .rms = from.rms,
               .q99 = from.q99,
               .eps = {},
               .nanoseconds = from.nanoseconds};
  if (std::isfinite(from.eps)) out.eps = from.eps;
  return out;
}

// `model` as it is; `round` is what storing does.
Normalization normalisation(const ModelFile& model, const ExampleSource& states, const HeadOptions& given,
                            std::function<void(ModelFile&)> round) {
  LadderOptions ladder;
  ladder.within = given.within;
  ladder.rho = given.rho;
  ladder.confidence = given.confidence;
  ladder.max_cost = given.max_cost;
  ladder.keep_all = given.keep_all;
  ladder.clusters = given.clusters;
  ladder.seed = given.seed;
  ladder.from_classes = 0;
  ladder.validate();
  NormalizationOptions options{.hold_out = given.hold_out, .seed = given.seed, .round = std::move(round)};
  options.audit.eps = given.within;
  options.audit.rho = given.rho;
  options.audit.confidence = given.confidence;
  Normalization out(model, states, std::move(options));
  out.fit_ladder(ladder);
  return out;
}

NormalizedHead described(const Normalization& work) {
  const NormalizeReport& found = work.report();
  const LadderFit& fit = *found.ladder;
  NormalizedHead out;
  out.slope = found.gauge.slope;
  out.intercept = found.gauge.intercept;
  out.before = audit_report(found.before, false);
  out.after = audit_report(found.lossless, false);
  out.probability = found.probability;
  for (const MeasuredRung& rung : fit.rungs) out.rungs.push_back(public_rung(rung));
  out.chosen = fit.chosen;
  out.reason = fit.reason;
  out.fitted = fit.fitted;
  out.certified = fit.certified;
  const Ladder& ladder = work.model().ladder;
  for (const LadderRung& rung : ladder.rungs)
    if (rung.name == fit.best().name)
      out.normalizer = {rung.b.intercept, rung.b.slope, rung.b.hidden_weight, rung.b.hidden_bias,
                        rung.b.output};
  if (fit.best().kind == RungKind::Nearest) out.normalizer = {};
  out.ladder = ladder_bytes(ladder, work.model().features);
  return out;
}

}  // namespace

NormalizedHead normalize_head(const Rows& weight, std::span<const float> bias, const Rows& states,
                              const HeadOptions& given) {
  check_head_options(given);
  const auto source = make_input_source(states, {.columns = states.columns()});
  const ModelFile model = head_model(weight, bias, states);
  Normalization work = normalisation(model, *source, given, [&](ModelFile& moved) {
    Head stored;
    stored.kind = stored_kind(given.weight_type);
    stored.bias_kind = stored_kind(given.bias_type);
    stored.model = std::move(moved);
    round_to_kind(stored);
    moved = std::move(stored.model);
  });
  NormalizedHead out = described(work);
  ModelFile normalized = work.take_model();
  out.weight = std::move(normalized.weight);
  out.bias = std::move(normalized.bias);
  return out;
}

NormalizedHead normalize_head(const HeadFiles& files, const HeadOptions& given) {
  check_head_options(given);
  if (files.out.empty()) throw Error("out: found no name; expected that of the file to write");
  Head head = load_head(files.head, {files.weight_name, files.bias_name});
  StatesOptions reading;
  reading.name = files.states_name;
  reading.classes = head.model.classes;
  const auto source = open_states(files.states, reading);
  if (source->columns() != head.model.features)
    throw_error("{}: found states of {} numbers, but the head in {} has {} features", files.states,
                source->columns(), files.head, head.model.features);
  const ModelFile model = std::move(head.model);
  Normalization work = normalisation(model, *source, given, [&](ModelFile& moved) {
    head.model = std::move(moved);
    round_to_kind(head);
    moved = std::move(head.model);
  });
  NormalizedHead out = described(work);
  head.model = work.take_model();
  save_head(head, files.out);
  return out;
}

std::vector<double> head_log_normalizers(const Rows& weight, std::span<const float> bias,
                                         const Rows& states) {
  return log_normalizers(head_model(weight, bias, states),
                         *make_input_source(states, {.columns = states.columns()}));
}

struct HeadLadder::Content {
  uint32_t classes = 0, features = 0;
  Ladder ladder;
};

HeadLadder::HeadLadder(std::string_view bytes, uint32_t classes, uint32_t features) {
  ModelFile shape;
  shape.classes = classes;
  shape.features = features;
  content_ = std::make_unique<const Content>(
      Content{classes, features, parse_ladder(std::as_bytes(std::span(bytes)), "the ladder", shape)});
}
HeadLadder::~HeadLadder() = default;
HeadLadder::HeadLadder(HeadLadder&&) noexcept = default;
HeadLadder& HeadLadder::operator=(HeadLadder&&) noexcept = default;

std::vector<std::string> HeadLadder::rungs() const {
  std::vector<std::string> out;
  for (const LadderRung& rung : content_->ladder.rungs) out.push_back(rung.name);
  return out;
}

std::vector<double> HeadLadder::log_normalizers(const Rows& weight, std::span<const float> bias,
                                                const Rows& states, const std::string& rung) const {
  if (rung == "exact") return head_log_normalizers(weight, bias, states);
  check_head(weight, bias, states);
  if (weight.rows() != content_->classes || weight.columns() != content_->features)
    throw_error("found weights of {} x {}, and a ladder of {} x {}; expected the head it was fitted to",
                weight.rows(), weight.columns(), content_->classes, content_->features);
  std::vector<double> out = estimates(states, rung);
  if (std::none_of(out.begin(), out.end(), [](double a) { return std::isnan(a); })) return out;
  const std::vector<double> exact = head_log_normalizers(weight, bias, states);
  for (size_t i = 0; i < out.size(); ++i)
    if (std::isnan(out[i])) out[i] = exact[i];
  return out;
}

std::vector<double> HeadLadder::estimates(const Rows& states, const std::string& rung) const {
  check_shape(states);
  if (states.columns() != content_->features)
    throw_error("found states of {} numbers, and a ladder of {}; expected those of its head",
                states.columns(), content_->features);
  // Of a head, whose states are dense, no rung looks at the weights themselves.
  runtime::ModelLayout layout;
  layout.classes = content_->classes;
  layout.features = content_->features;
  layout.ladder = layout_of(content_->ladder, {});
  const size_t place = layout.ladder.find(rung);
  if (place == runtime::kNoRung)
    throw_error("rung '{}': the head keeps no such rung; expected exact{}{}", rung,
                layout.ladder.rungs.empty() ? "" : ", ", fmt::join(rungs(), ", "));
  const runtime::Scorer scorer(layout);
  const uint32_t d = content_->features;
  std::vector<double> out(states.rows());
  parallel_ranges(states.rows(), kStatesAtOnce, [&](size_t begin, size_t end) {
    std::vector<float> row(d);
    for (size_t i = begin; i < end; ++i) {
      states.read(i, row);
      runtime::Approximation a;
      out[i] = scorer.log_normalizer({row}, layout.ladder.rungs[place], &a) ? a.log_z : NAN;
    }
  });
  return out;
}

}  // namespace selfnorm

#include "family/crf/crf_ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "audit/error_audit.h"
#include "audit/rung_certificate.h"
#include "base/failure.h"
#include "family/crf/crf_evaluation.h"
#include "math/parallel.h"
#include "math/random.h"
#include "model/ladder.h"

namespace selfnorm {
namespace {

constexpr uint64_t kCrfLadderStream = 0x637266726e67;  // "crfrng"
constexpr uint64_t kFewestFitted = 100;
constexpr double kStops[] = {0.1, 0.03, 0.01, 0.003, 0.001};  // of nearest rungs
constexpr float kShareStop = 0.01f;                           // what is not near when shares are fitted
constexpr size_t kShareSentences = 1000;
constexpr size_t kRungSentences = 64;
constexpr double kWorthwhile = 0.5;  // of the labels: beyond, the forward recursion is as cheap

// Least squares on (1, T); all of one length: the mean.
void fit_level(const Sequences& data, std::span<const uint64_t> sentences, std::span<const double> log_z,
               CrfLadder& out) {
  double n = 0, t = 0, a = 0;
  for (const uint64_t i : sentences) {
    n += 1;
    t += static_cast<double>(data.length(i));
    a += log_z[i];
  }
  if (n == 0) return;
  double square = 0, product = 0;
  for (const uint64_t i : sentences) {
    const double deviation = static_cast<double>(data.length(i)) - t / n;
    square += deviation * deviation;
    product += deviation * (log_z[i] - a / n);
  }
  out.per_token = square > 0 ? product / square : 0;
  out.per_sentence = a / n - out.per_token * t / n;
}

runtime::Rung named_rung(std::string name, runtime::RungKind kind, double cost) {
  runtime::Rung out;
  out.name = std::move(name);
  out.kind = kind;
  out.cost = cost;
  return out;
}

// w of LabelTail: how much of p(y_t | the scores up to t) the labels have where they are not near, on
// average.
std::vector<double> far_shares(const CrfModel& model, const Sequences& data,
                               std::span<const uint64_t> sentences) {
  const uint32_t labels = model.shape.labels;
  std::vector<double> out(labels);
  CrfScorer scorer(model.shape, model.theta);
  const PairFactors<float> factors = transition_factors<float>(model.shape, model.theta);
  Lattice lattice;
  for (const uint64_t i : sentences.first(std::min(sentences.size(), kShareSentences))) {
    lattice.forward(scorer(data, i), factors);
    if (lattice.is_in_log_space()) continue;
    for (uint64_t t = 0; t + 1 < data.length(i); ++t) {
      const std::span<const float> alpha = lattice.filtered(t);
      for (uint32_t j = 0; j < labels; ++j)
        if (alpha[j] < kShareStop) out[j] += static_cast<double>(alpha[j]);
    }
  }
  const double sum = std::accumulate(out.begin(), out.end(), 0.0);
  for (double& w : out) w = sum > 0 ? w / sum : 1.0 / labels;
  return out;
}

// A - a of these sentences, and the mean cost of a position.
RungErrors errors_of(const CrfModel& model, const CrfLadder& ladder, runtime::Rung rung,
                     const Sequences& data, std::span<const uint64_t> sentences,
                     std::span<const double> log_z) {
  std::vector<double> errors(sentences.size()), costs(sentences.size());
  parallel_ranges(sentences.size(), kRungSentences, [&](size_t begin, size_t end) {
    CrfRungValue value(model, ladder, rung);
    for (size_t i = begin; i < end; ++i) {
      errors[i] = log_z[sentences[i]] - value(data, sentences[i]);
      costs[i] = value.cost();
    }
  });
  if (!costs.empty())
    rung.cost = std::accumulate(costs.begin(), costs.end(), 0.0) / static_cast<double>(costs.size());
  return {rung, std::move(errors)};
}

}  // namespace

runtime::Rung crf_rung(const CrfLadder& ladder, const std::string& name) {
  const auto found = std::ranges::find(ladder.rungs, name, &runtime::Rung::name);
  return found != ladder.rungs.end() ? *found : named_rung(name, runtime::RungKind::Raw, 0);
}

CrfRungValue::CrfRungValue(const CrfModel& model, const CrfLadder& ladder, const runtime::Rung& rung)
    : model_(model),
      rung_(rung),
      per_sentence_(ladder.per_sentence),
      per_token_(ladder.per_token),
      cost_(rung.cost),
      scorer_(model.shape, model.theta) {
  SELFNORM_CHECK(rung.name == "raw" || rung.name == "level" || rung.name == "amortised" ||
                 rung.kind == runtime::RungKind::Nearest);
  if (rung.kind != runtime::RungKind::Nearest) return;
  factors_ = transition_factors<float>(model.shape, model.theta);
  tail_.emplace(factors_, ladder.share, rung.stop);
}

double CrfRungValue::operator()(const Sequences& data, uint64_t sentence) {
  if (tail_) {
    const double a = lattice_.forward_nearest(scorer_(data, sentence), factors_, *tail_);
    const auto pairs = static_cast<double>(std::max<uint64_t>(1, data.length(sentence)) - 1);
    cost_ = pairs == 0 ? 0 : static_cast<double>(lattice_.near_labels()) / pairs + 1;
    return a;
  }
  if (rung_.name == "raw") return 0;
  if (rung_.name == "level") return per_sentence_ + per_token_ * static_cast<double>(data.length(sentence));
  return crf_normalizer(model_.normalizer, data, sentence);
}

CrfLadder fit_crf_ladder(const CrfModel& model, const Sequences& data, uint64_t seed, bool is_trained_on) {
  const std::vector<double> log_z = crf_log_z(model, data);
  const std::vector<uint64_t> order =
      random_permutation(data.sentences(), RandomStream(seed, kCrfLadderStream));
  std::vector<runtime::Rung> rungs{named_rung("raw", runtime::RungKind::Raw, 0),
                                   named_rung("level", runtime::RungKind::Linear, 0)};
  if (model.normalizer.exists) rungs.push_back(named_rung("amortised", runtime::RungKind::Linear, 1));
  const bool has_nearest = model.shape.labels >= kNearestLabels && data.bigram.rows() == 0;
  for (const double stop : has_nearest ? std::span<const double>(kStops) : std::span<const double>()) {
    rungs.push_back(named_rung(fmt::format("nearest-{}", stop), runtime::RungKind::Nearest, 0));
    rungs.back().stop = stop;
  }
  const AuditOptions usual;
  const uint64_t needed = inputs_needed(usual.rho, usual.confidence, rungs.size()),
                 count = fitted_of(order.size(), needed, kFewestFitted);
  const auto fitted = std::span(order).first(count), certifying = std::span(order).subspan(count);
  CrfLadder out;
  out.enough = needed + kFewestFitted;
  fit_level(data, fitted, log_z, out);
  if (has_nearest) out.share = far_shares(model, data, fitted);
  std::vector<RungErrors> measured;
  for (const runtime::Rung& rung : rungs)
    measured.push_back(errors_of(model, out, rung, data, certifying, log_z));
  out.rungs = certified_together(measured, usual.rho, usual.confidence);
  std::erase_if(out.rungs, [&model](const runtime::Rung& rung) {
    return rung.kind == runtime::RungKind::Nearest && rung.cost > kWorthwhile * model.shape.labels;
  });
  if (out.rungs.back().kind != runtime::RungKind::Nearest) out.share.clear();
  if (is_trained_on)
    for (runtime::Rung& rung : out.rungs) rung.eps = std::numeric_limits<double>::infinity();
  return out;
}

std::vector<RungDrift> crf_ladder_drift(const CrfModel& model, const CrfLadder& ladder,
                                        const Sequences& data) {
  std::vector<RungDrift> out = certified_rungs(ladder.rungs);
  if (out.empty()) return out;
  const std::vector<double> log_z = crf_log_z(model, data);
  std::vector<uint64_t> all(data.sentences());
  std::iota(all.begin(), all.end(), uint64_t{0});
  for (RungDrift& drift : out) {
    drift.inputs = all.size();
    for (const double error : errors_of(model, ladder, drift, data, all, log_z).errors)
      drift.exceeded += std::abs(error) > drift.eps ? 1 : 0;
  }
  judge_drift(out);
  return out;
}

std::string crf_ladder_json(const CrfLadder& ladder) {
  auto out = nlohmann::ordered_json::parse(rungs_json(ladder.rungs));
  out["level"] = {{"per_sentence", ladder.per_sentence}, {"per_token", ladder.per_token}};
  if (!ladder.share.empty()) out["share"] = ladder.share;
  return out.dump();
}

CrfLadder crf_ladder_of(const CrfModel& model, const std::string& file) {
  CrfLadder out;
  const auto audit = nlohmann::ordered_json::parse(model.audit_json, nullptr, false);
  if (!audit.is_object() || !audit.contains("ladder")) return out;
  try {
    const auto& ladder = audit.at("ladder");
    out.per_sentence = ladder.at("level").at("per_sentence").get<double>();
    out.per_token = ladder.at("level").at("per_token").get<double>();
    if (ladder.contains("share")) out.share = ladder.at("share").get<std::vector<double>>();
    out.rungs =
        runtime::parse_rungs(nlohmann::ordered_json{{"rungs", ladder.at("rungs")}}.dump(), file).rungs;
  } catch (const std::exception& error) {
    throw_error("{}: the ladder of its audit record is damaged ({}); train or normalise it again", file,
                error.what());
  }
  const bool has_nearest = out.share.size() == model.shape.labels && model.shape.bigrams == 0 &&
                           std::ranges::all_of(out.share, [](double w) { return w >= 0 && w <= 1; });
  for (const runtime::Rung& rung : out.rungs) {
    const bool is_known = rung.kind == runtime::RungKind::Nearest
                              ? has_nearest && rung.name.starts_with("nearest-")
                              : rung.name == "raw" || rung.name == "level" ||
                                    (rung.name == "amortised" && model.normalizer.exists);
    if (!is_known)
      throw_error(
          "{}: found the rung '{}' of kind {} in the ladder of a chain, expected raw, level, amortised or "
          "nearest ones with the shares of its {} labels; train or normalise it again",
          file, rung.name, runtime::name(rung.kind), model.shape.labels);
  }
  return out;
}

}  // namespace selfnorm

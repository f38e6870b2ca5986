#include "family/crf/crf_ladder.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "audit/error_audit.h"
#include "audit/rung_certificate.h"
#include "base/failure.h"
#include "family/crf/crf_evaluation.h"
#include "math/random.h"
#include "model/ladder.h"

namespace selfnorm {
namespace {

constexpr uint64_t kCrfLadderStream = 0x637266726e67;  // "crfrng"
constexpr double kFittedShare = 0.45;

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

runtime::Rung named_rung(const char* name, runtime::RungKind kind, double cost) {
  runtime::Rung out;
  out.name = name;
  out.kind = kind;
  out.cost = cost;
  return out;
}

}  // namespace

double CrfLadder::value(const std::string& rung, const CrfModel& model, const Sequences& data,
                        uint64_t sentence) const {
  if (rung == "raw") return 0;
  if (rung == "level") return per_sentence + per_token * static_cast<double>(data.length(sentence));
  SELFNORM_CHECK(rung == "amortised");
  return crf_normalizer(model.normalizer, data, sentence);
}

CrfLadder fit_crf_ladder(const CrfModel& model, const Sequences& data, uint64_t seed, bool is_trained_on) {
  const std::vector<double> log_z = crf_log_z(model, data);
  std::vector<uint64_t> order = random_permutation(data.sentences(), RandomStream(seed, kCrfLadderStream));
  const auto fitted = static_cast<size_t>(kFittedShare * static_cast<double>(order.size()));
  CrfLadder out;
  fit_level(data, std::span(order).first(fitted), log_z, out);
  std::vector<RungErrors> measured{{named_rung("raw", runtime::RungKind::Raw, 0), {}},
                                   {named_rung("level", runtime::RungKind::Linear, 0), {}}};
  if (model.normalizer.exists)
    measured.push_back({named_rung("amortised", runtime::RungKind::Linear, 1), {}});
  for (RungErrors& of : measured)
    for (const uint64_t i : std::span(order).subspan(fitted))
      of.errors.push_back(log_z[i] - out.value(of.rung.name, model, data, i));
  const AuditOptions usual;
  out.rungs = certified_together(measured, usual.rho, usual.confidence);
  if (is_trained_on)
    for (runtime::Rung& rung : out.rungs) rung.eps = std::numeric_limits<double>::infinity();
  return out;
}

std::string crf_ladder_json(const CrfLadder& ladder) {
  auto out = nlohmann::ordered_json::parse(rungs_json(ladder.rungs));
  out["level"] = {{"per_sentence", ladder.per_sentence}, {"per_token", ladder.per_token}};
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
    out.rungs =
        runtime::parse_rungs(nlohmann::ordered_json{{"rungs", ladder.at("rungs")}}.dump(), file).rungs;
  } catch (const std::exception& error) {
    throw_error("{}: the ladder of its audit record is damaged ({}); train or normalise it again", file,
                error.what());
  }
  for (const runtime::Rung& rung : out.rungs)
    if (rung.name != "raw" && rung.name != "level" && (rung.name != "amortised" || !model.normalizer.exists))
      throw_error("{}: found the rung '{}' in the ladder of a chain, expected raw, level or amortised", file,
                  rung.name);
  return out;
}

}  // namespace selfnorm

#include "family/crf/crf_evaluation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/failure.h"
#include "family/crf/crf_gauge.h"
#include "math/parallel.h"
#include "model/crf/crf_model.h"
#include "normalizer/crf/crf_scorer.h"
#include "normalizer/crf/decode.h"
#include "normalizer/crf/lattice.h"
#include "selfnorm/runtime/crf_layout.h"

namespace selfnorm {
namespace {

constexpr size_t kSentencesAtOnce = 64;
constexpr uint64_t kSentencesOfReport = 4096;  // between two words on progress

// visit(sentence, scores, A, lattice) in parallel, with scorers and lattices that keep their room.
template <class Visit>
void for_each_sentence(const CrfModel& model, const Sequences& data, Range range, const Visit& visit) {
  const PairFactors<float> factors = transition_factors<float>(model.shape, model.theta);
  parallel_ranges(range.end - range.begin, kSentencesAtOnce, [&](size_t begin, size_t end) {
    CrfScorer scorer(model.shape, model.theta);
    Lattice lattice;
    for (size_t i = range.begin + begin; i < range.begin + end; ++i) {
      const CrfScores scores = scorer(data, i);
      const double log_z = lattice.forward(scores, factors);
      visit(i, scores, log_z, lattice);
    }
  });
}

struct ScoredSentences {
  std::vector<double> score, log_z, log_prob;
  std::vector<uint32_t> predicted;  // a position
};

// A sentence with a label that the model has not seen.
constexpr double kUnseenScore = -std::numeric_limits<double>::infinity();

bool is_seen(std::span<const uint32_t> labels, const CrfShape& shape) {
  return std::all_of(labels.begin(), labels.end(), [&shape](uint32_t k) { return k < shape.labels; });
}

ScoredSentences scored(const CrfModel& model, const Sequences& data) {
  ScoredSentences out;
  out.score.resize(data.sentences());
  out.log_z.resize(data.sentences());
  out.log_prob.resize(data.sentences());
  out.predicted.resize(data.positions());
  const Range all{0, data.sentences()};
  for_each_sentence(model, data, all,
                    [&](uint64_t i, const CrfScores& scores, double log_z, const Lattice& lattice) {
                      const uint64_t first = data.sentence_begin[i];
                      const auto gold = std::span(data.label).subspan(first, scores.length);
                      const bool seen = is_seen(gold, model.shape);
                      out.score[i] = seen ? crf_score<float>(scores, gold) : kUnseenScore;
                      out.log_z[i] = log_z;
                      out.log_prob[i] = seen ? lattice.log_prob(scores, gold) : kUnseenScore;
                      const Labelling best = viterbi<float>(scores);
                      std::copy(best.labels.begin(), best.labels.end(),
                                out.predicted.begin() + static_cast<ptrdiff_t>(first));
                    });
  return out;
}

std::optional<SpanEvaluation> span_evaluation(const std::vector<std::string>& labels, const Sequences& data,
                                              std::span<const uint32_t> predicted) {
  std::optional<SpanScheme> scheme = SpanScheme::of(labels);
  if (!scheme) return std::nullopt;
  for (const std::string& label : data.unseen.labels) scheme->add(label);
  std::vector<SpanCounts> counts(scheme->types().size());
  for (uint64_t i = 0; i < data.sentences(); ++i) {
    const uint64_t first = data.sentence_begin[i], length = data.length(i);
    scheme->count(std::span(data.label).subspan(first, length), predicted.subspan(first, length), counts);
  }
  SpanEvaluation out;
  for (size_t type = 0; type < counts.size(); ++type) {
    out.all.correct += counts[type].correct;
    out.all.predicted += counts[type].predicted;
    out.all.actual += counts[type].actual;
    out.by_type.emplace_back(scheme->types()[type], counts[type]);
  }
  std::sort(out.by_type.begin(), out.by_type.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

std::vector<LengthLevel> levels_by_length(const Sequences& data, std::span<const double> level) {
  std::vector<LengthLevel> all(64);
  for (uint64_t i = 0; i < level.size(); ++i) {
    const uint64_t length = data.length(i);
    LengthLevel& at = all[static_cast<size_t>(std::bit_width(length) - 1)];
    ++at.sentences;
    at.mean += level[i];
    at.rms += level[i] * level[i];
    at.rms_per_token += std::pow(level[i] / static_cast<double>(length), 2);
  }
  std::vector<LengthLevel> out;
  for (size_t power = 0; power < all.size(); ++power) {
    LengthLevel& at = all[power];
    if (at.sentences == 0) continue;
    const auto n = static_cast<double>(at.sentences);
    at.shortest = uint64_t{1} << power;
    at.longest = 2 * at.shortest - 1;
    at.mean /= n;
    at.rms = std::sqrt(at.rms / n);
    at.rms_per_token = std::sqrt(at.rms_per_token / n);
    out.push_back(at);
  }
  return out;
}

double finite_level(double b) {
  if (std::isfinite(b)) return b;
  throw_error("b(x) of a sentence is {}; the model is damaged", b);
}

// What likelihoods are means over.
struct SeenCounts {
  double sentences = 0, tokens = 0;
};

AmortisedCrfEvaluation amortised(const CrfNormalizer& normalizer, const Sequences& data,
                                 const ScoredSentences& found, const SeenCounts& seen) {
  std::vector<double> level = found.log_z;
  double nll = 0;
  for (uint64_t i = 0; i < level.size(); ++i) {
    const double b = crf_normalizer(normalizer, data, i);
    if (found.score[i] != kUnseenScore) nll += b - found.score[i];
    level[i] -= b;
  }
  return {crf_levels(data, std::move(level)), nll / seen.sentences, nll / seen.tokens};
}

}  // namespace

CrfLevels crf_levels(const Sequences& data, std::vector<double> level) {
  SELFNORM_CHECK(level.size() == data.sentences());
  std::vector<double> per_token(level.size());
  for (uint64_t i = 0; i < level.size(); ++i) per_token[i] = level[i] / static_cast<double>(data.length(i));
  std::vector<LengthLevel> by_length = levels_by_length(data, level);
  return {describe(std::move(level)), describe(std::move(per_token)), std::move(by_length)};
}

double crf_normalizer(const CrfNormalizer& normalizer, const Sequences& data, uint64_t sentence) {
  if (!normalizer.exists) return 0;
  double b = normalizer.per_sentence + normalizer.per_position * static_cast<double>(data.length(sentence));
  if (normalizer.slope.empty()) return finite_level(b);
  for (uint64_t t = data.sentence_begin[sentence]; t < data.sentence_begin[sentence + 1]; ++t) {
    const std::span<const uint32_t> attributes = data.unigram.attributes(t);
    const std::span<const float> values = data.unigram.values(t);
    b += runtime::attribute_sum(
        {attributes.data(), values.empty() ? nullptr : values.data(), attributes.size()},
        normalizer.slope.data(), 1, 0);
  }
  return finite_level(b);
}

CrfEvaluation evaluate_crf(const CrfModel& model, const Sequences& data, int threads) {
  check_sequences(data, model.shape, "the data", NeededLabels::any);
  const ThreadLimit limit(threads);
  ScoredSentences found = scored(model, data);
  CrfEvaluation out;
  out.sentences = data.sentences();
  out.tokens = data.positions();
  const auto sentences = static_cast<double>(out.sentences), tokens = static_cast<double>(out.tokens);
  uint64_t right = 0, whole = 0;
  double exact = 0, raw = 0;
  SeenCounts seen;
  for (uint64_t i = 0; i < out.sentences; ++i) {
    uint64_t here = 0;
    for (uint64_t t = data.sentence_begin[i]; t < data.sentence_begin[i + 1]; ++t)
      here += found.predicted[t] == data.label[t] ? 1 : 0;
    right += here;
    whole += here == data.length(i) ? 1 : 0;
    if (found.score[i] == kUnseenScore) continue;
    ++seen.sentences;
    seen.tokens += static_cast<double>(data.length(i));
    exact -= found.log_prob[i];
    raw -= found.score[i];
  }
  out.accuracy = static_cast<double>(right) / tokens;
  out.sentence_accuracy = static_cast<double>(whole) / sentences;
  out.unseen = static_cast<uint64_t>(std::count_if(data.label.begin(), data.label.end(),
                                                   [&](uint32_t k) { return k >= model.shape.labels; }));
  out.unseen_sentences = out.sentences - static_cast<uint64_t>(seen.sentences);
  out.nll_exact = exact / seen.sentences;
  out.nll_exact_per_token = exact / seen.tokens;
  out.nll_raw = raw / seen.sentences;
  out.nll_raw_per_token = raw / seen.tokens;
  out.spans = span_evaluation(model.encoder.labels, data, found.predicted);
  if (model.normalizer.exists) out.amortised = amortised(model.normalizer, data, found, seen);
  static_cast<CrfLevels&>(out) = crf_levels(data, std::move(found.log_z));
  return out;
}

std::vector<double> crf_log_z(const CrfModel& model, const Sequences& data, int threads,
                              const std::function<void(uint64_t)>& progress) {
  check_sequences(data, model.shape, "the data", NeededLabels::none);
  const ThreadLimit limit(threads);
  std::vector<double> out(data.sentences());
  for (uint64_t first = 0; first < out.size(); first += kSentencesOfReport) {
    const Range range{first, std::min<uint64_t>(out.size(), first + kSentencesOfReport)};
    for_each_sentence(model, data, range,
                      [&](uint64_t i, const CrfScores&, double log_z, const Lattice&) { out[i] = log_z; });
    if (progress) progress(range.end);
  }
  return out;
}

CrfAudit audit_crf(const CrfModel& model, const Sequences& data, const AuditOptions& options,
                   const std::function<void(uint64_t)>& progress) {
  ErrorAuditor auditor(options);
  const std::vector<double> log_z = crf_log_z(model, data, 0, progress);
  std::vector<double> error = log_z;
  RunningVariance moments;
  for (uint64_t i = 0; i < log_z.size(); ++i) {
    if (options.amortised) error[i] -= crf_normalizer(model.normalizer, data, i);
    auditor.add(i, error[i]);
    moments.add(log_z[i]);
  }
  CrfAudit out;
  static_cast<ErrorAudit&>(out) = auditor.finish();
  out.sentences = data.sentences();
  out.tokens = data.positions();
  CrfLevels levels = crf_levels(data, std::move(error));
  out.log_z_per_token = levels.log_z_per_token;
  out.by_length = std::move(levels.by_length);
  out.variance = moments.variance();
  if (options.with_v_star)
    static_cast<GaugeVariance&>(out) = gauge_variance(
        out.variance, crf_gauge(data, model.shape, log_z, CrfFeatures::all, CrfFitPurpose::fit),
        out.sentences);
  return out;
}

}  // namespace selfnorm

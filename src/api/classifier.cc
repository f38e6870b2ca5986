#include "selfnorm/classifier.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "api/classifier_content.h"
#include "api/rows.h"
#include "audit/audit.h"
#include "base/failure.h"
#include "family/classifier/normalize/normalization.h"
#include "math/parallel.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr uint64_t kRowsAtOnce = 64, kNumbersAtOnce = 8192;

int runtime_kind(ScoreKind kind) {
  return kind == ScoreKind::raw     ? SELFNORM_RAW
         : kind == ScoreKind::exact ? SELFNORM_EXACT
                                    : SELFNORM_AMORTISED;
}

// The function of the runtime for row `i`, sparse or dense, with what else it takes.
template <class Sparse, class Dense, class... Rest>
selfnorm_status call_row(const selfnorm_model* model, const Features& x, uint64_t i, Sparse sparse,
                         Dense dense, Rest... rest) {
  if (!x.is_sparse) return dense(model, x.dense.row(i).data(), x.dense.columns, rest...);
  const uint64_t begin = x.sparse.begin[i];
  return sparse(model, x.sparse.column.data() + begin, x.sparse.value.data() + begin,
                x.sparse.begin[i + 1] - begin, rest...);
}

// Blocks of rows in parallel: visit(first row, features of the block).
void for_blocks(const ExampleSource& source, const std::function<void(uint64_t, const Features&)>& visit) {
  parallel_ranges(source.examples(), kRowsAtOnce,
                  [&](uint64_t begin, uint64_t end) { visit(begin, source.block(begin, end).features); });
}

}  // namespace

Classifier Classifier::load(const std::string& path) {
  ModelFile model = load_model(model_file_of(path));
  if (model.family == Family::Joint)
    throw_error("{}: expected a classifier; models of alternatives are opened by the program", path);
  if (model.input == ModelInput::Context)
    throw_error("{}: expected a classifier; found a language model", path);
  return Classifier(std::make_shared<Content>(std::move(model)));
}

void Classifier::save(const std::string& path) const { save_model(content_->model, path); }

const std::vector<std::string>& Classifier::labels() const { return content_->names(); }

uint32_t Classifier::columns() const { return content_->model.inputs(); }

bool Classifier::is_of_texts() const { return content_->text.has_value(); }

bool Classifier::has_amortised() const { return content_->model.normalizer.exists(); }

std::vector<double> Classifier::log_probabilities(const Inputs& x, ScoreKind kind) const {
  const ModelFile& model = content_->model;
  const uint32_t classes = model.classes;
  std::vector<double> out(x.rows() * classes);
  if (model.family == Family::Hierarchical) {
    std::vector<uint32_t> all(classes);
    for (uint32_t k = 0; k < classes; ++k) all[k] = k;
    return score(x, {all}, ScoreKind::exact);
  }
  const auto states = content_->states(x);
  if (kind == ScoreKind::amortised && !has_amortised())
    throw Error("the model has no b(x); expected one that was trained or normalised with it");
  for_blocks(*states, [&](uint64_t first, const Features& block) {
    std::vector<float> tile(block.rows() * classes);
    content_->scores(block.is_sparse).tile(block, {0, block.rows()}, {0, classes}, tile.data());
    for (uint64_t i = 0; i < block.rows(); ++i) {
      const auto scores = std::span(tile).subspan(i * classes, classes);
      double* to = out.data() + (first + i) * classes;
      if (kind == ScoreKind::exact) {
        LogSumExp z;
        for (const float s : scores) z.add(s);
        for (uint32_t k = 0; k < classes; ++k) to[k] = z.log_share(scores[k]);
        continue;
      }
      double b = 0;
      if (kind == ScoreKind::amortised)
        Content::check(call_row(content_->runtime(), block, i, selfnorm_amortised_normalizer_sparse,
                                selfnorm_amortised_normalizer_dense, &b));
      for (uint32_t k = 0; k < classes; ++k) to[k] = scores[k] - model.log_normalizer - b;
    }
  });
  return out;
}

std::vector<double> Classifier::probabilities(const Inputs& x) const {
  std::vector<double> out = log_probabilities(x);
  parallel_ranges(out.size(), kNumbersAtOnce, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) out[i] = std::exp(out[i]);
  });
  return out;
}

std::vector<double> Classifier::log_normalizers(const Inputs& x) const {
  if (content_->model.family == Family::Hierarchical) return std::vector<double>(x.rows());
  std::vector<double> out = selfnorm::log_normalizers(content_->model, *content_->states(x));
  for (double& a : out) a -= content_->model.log_normalizer;
  return out;
}

std::vector<double> Classifier::scored(const Inputs& x, const Candidates& candidates, int kind) const {
  const uint64_t rows = x.rows(), all = candidates.label.size();
  const auto source = make_input_source(x, content_->shape());
  if (!candidates.is_shared && all % rows != 0)
    throw_error("found {} candidates for {} rows; expected as many for each row", all, rows);
  const uint64_t width = candidates.is_shared ? all : all / rows;
  const selfnorm_model* model = content_->runtime();
  std::vector<double> out(rows * width);
  for_blocks(*source, [&](uint64_t first, const Features& block) {
    for (uint64_t i = 0; i < block.rows(); ++i) {
      const uint32_t* labels = candidates.label.data() + (candidates.is_shared ? 0 : (first + i) * width);
      Content::check(call_row(model, block, i, selfnorm_score_sparse, selfnorm_score_dense, labels, width,
                              kind, out.data() + (first + i) * width));
    }
  });
  return out;
}

std::vector<double> Classifier::score(const Inputs& x, const Candidates& candidates, ScoreKind kind) const {
  return scored(x, candidates, runtime_kind(kind));
}

LadderPromise Classifier::promise() const {
  LadderPromise out;
  selfnorm_promise(content_->runtime(), &out.within, &out.rho, &out.confidence);
  return out;
}

ScoredWithin Classifier::score_within(const Inputs& x, const Candidates& candidates,
                                      std::optional<double> eps, std::optional<double> rho) const {
  const selfnorm_model* model = content_->runtime();
  const LadderPromise usual = promise();
  const int kind = selfnorm_kind_within(model, eps.value_or(usual.within), rho.value_or(usual.rho));
  ScoredWithin out;
  out.rung = "exact";
  if (kind != SELFNORM_EXACT) {
    selfnorm_rung rung;
    Content::check(selfnorm_rung_at(model, static_cast<size_t>(kind - SELFNORM_RUNG(0)), &rung));
    out.rung.assign(rung.name, rung.name_length);
    out.eps = rung.eps;
    out.rho = rung.rho;
    out.confidence = rung.conf;
  }
  out.log_probability = scored(x, candidates, kind);
  return out;
}

std::vector<uint32_t> Classifier::predict_index(const Inputs& x) const {
  if (content_->model.family == Family::Hierarchical) return top(x, 1).label;
  const uint32_t classes = content_->model.classes;
  std::vector<uint32_t> out(x.rows());
  for_blocks(*content_->states(x), [&](uint64_t first, const Features& block) {
    std::vector<float> tile(block.rows() * classes);
    content_->scores(block.is_sparse).tile(block, {0, block.rows()}, {0, classes}, tile.data());
    for (uint64_t i = 0; i < block.rows(); ++i) {
      const auto begin = tile.begin() + static_cast<ptrdiff_t>(i * classes);
      out[first + i] = static_cast<uint32_t>(std::max_element(begin, begin + classes) - begin);
    }
  });
  return out;
}

std::vector<std::string> Classifier::predict(const Inputs& x) const {
  std::vector<std::string> out;
  for (const uint32_t label : predict_index(x)) out.push_back(labels()[label]);
  return out;
}

Ranking Classifier::top(const Inputs& x, uint32_t width, ScoreKind kind) const {
  const auto source = make_input_source(x, content_->shape());
  const selfnorm_model* model = content_->runtime();
  if (width == 0 || width > content_->model.classes)
    throw_error("asked for the {} best classes; expected 1 to {}", width, content_->model.classes);
  Ranking out{width, std::vector<uint32_t>(x.rows() * width), std::vector<double>(x.rows() * width)};
  for_blocks(*source, [&](uint64_t first, const Features& block) {
    for (uint64_t i = 0; i < block.rows(); ++i) {
      const uint64_t at = (first + i) * width;
      Content::check(call_row(model, block, i, selfnorm_top_sparse, selfnorm_top_dense, size_t{width},
                              runtime_kind(kind), out.label.data() + at, out.log_probability.data() + at));
    }
  });
  return out;
}

ClassifierQuality Classifier::evaluate(const Inputs& x, const Labels& given) const {
  Dataset data = make_input_source(x, content_->shape(), content_->targets(x, given))->block(0, x.rows());
  data.labels = labels();
  const Evaluation found = selfnorm::evaluate(content_->model, data);
  return {.rows = found.n,
          .accuracy = found.accuracy,
          .nll_exact = found.nll_exact,
          .nll_raw = found.nll_raw,
          .log_z_rms = found.log_z.rms};
}

AuditReport Classifier::audit(const Inputs& x, const Labels* given, const Options& named,
                              ScoreKind kind) const {
  if (content_->model.family == Family::Hierarchical)
    throw Error(
        "the probabilities of a hierarchical model sum to 1 as they are; there is no log Z to look at");
  if (kind == ScoreKind::exact)
    throw Error("exact log-probabilities have no error; audit raw or amortised ones");
  AuditOptions options;
  audit_option_table(options).set(named);
  options.amortised = kind == ScoreKind::amortised;
  const auto source = content_->states(x, given ? content_->targets(x, *given) : std::vector<uint32_t>());
  return audit_report(selfnorm::audit(content_->model, *source, options), options.amortised);
}

NormalizedClassifier Classifier::normalized(const Inputs& x) const {
  if (content_->model.family == Family::Hierarchical)
    throw Error(
        "the probabilities of a hierarchical model sum to 1 as they are; there is nothing to normalise");
  const auto states = content_->states(x);
  const bool has_b = content_->model.normalizer.exists();
  Normalization work(content_->model, *states, {.round = [](ModelFile& model) { round_as_stored(model); }});
  const auto before = audit_report(work.report().before, has_b);
  const auto after = audit_report(work.report().lossless, false);
  return {Classifier(std::make_shared<Content>(work.take_model())), before, after};
}

}  // namespace selfnorm

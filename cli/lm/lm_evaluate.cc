#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "classifier/evaluation_report.h"
#include "commands.h"
#include "family/lm/lm_evaluation.h"
#include "model/encoder.h"
#include "run/progress_line.h"
#include "served_kind.h"

namespace selfnorm::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kTimedSeconds = 0.5;
constexpr uint64_t kTimedWords = 100'000;
constexpr size_t kRawAtOnce = 1000, kExactAtOnce = 8;

// Words a second, in calls of `at_once` words, for as long as it takes to tell.
double words_per_second(const RuntimeModel& model, std::span<const uint32_t> contexts,
                        std::span<const uint32_t> words, selfnorm_kind kind, size_t at_once) {
  const size_t n = model.positions();
  at_once = std::min(at_once, words.size());
  std::vector<double> out(at_once);
  uint64_t done = 0;
  size_t at = 0;
  std::chrono::duration<double> spent{};
  for (const auto start = Clock::now(); spent.count() < kTimedSeconds; spent = Clock::now() - start) {
    model.score_contexts(contexts.subspan(at * n, at_once * n), words.subspan(at, at_once), kind, out);
    done += at_once;
    at += at_once;
    if (at + at_once > words.size()) at = 0;
  }
  return static_cast<double>(done) / spent.count();
}

WordRate rate_of(const ModelHeader& header, const TokenCorpus& corpus, int threads) {
  RuntimeModel model(header);
  std::vector<uint64_t> positions(std::min(kTimedWords, corpus.examples()));
  std::iota(positions.begin(), positions.end(), uint64_t{0});
  TokenRows rows;
  gather_contexts(corpus, positions, model.positions(), rows);
  std::vector<uint32_t> words(positions.size());
  std::transform(positions.begin(), positions.end(), words.begin(),
                 [&](uint64_t i) { return corpus.target(i); });
  const auto rate = [&](selfnorm_kind kind, size_t at_once) {
    return words_per_second(model, rows.id, words, kind, at_once);
  };
  model.precompute(threads > 0 ? static_cast<unsigned>(threads) : std::thread::hardware_concurrency());
  WordRate out;
  out.raw = rate(SELFNORM_RAW, kRawAtOnce);
  out.exact = rate(SELFNORM_EXACT, kExactAtOnce);
  if (model.has_normalizer()) out.amortised = rate(SELFNORM_AMORTISED, kRawAtOnce);
  return out;
}

constexpr uint64_t kServedWords = 20'000;

// What `score` would give of the first words, where that is not exact.
Json served_words(const ServedKind& served, const RuntimeModel& model, const TokenCorpus& corpus) {
  std::vector<uint64_t> positions(std::min(kServedWords, corpus.examples()));
  std::iota(positions.begin(), positions.end(), uint64_t{0});
  TokenRows rows;
  gather_contexts(corpus, positions, model.positions(), rows);
  std::vector<uint32_t> words;
  words.reserve(positions.size());
  for (const uint64_t i : positions) words.push_back(corpus.target(i));
  std::vector<double> out(words.size());
  model.score_contexts(rows.id, words, served.kind, out);
  double nll = 0, above = 0;
  for (const double log_prob : out) {
    nll -= log_prob / static_cast<double>(out.size());
    above += (log_prob > 0 ? 1.0 : 0.0) / static_cast<double>(out.size());
  }
  Json json = served.json();
  json.update({{"words", out.size()}, {"ppl", std::exp(nll)}, {"above_one", above}});
  return json;
}

}  // namespace

int evaluate_language_models(const Arguments& arguments) {
  const EvaluateArguments& given = arguments.evaluate;
  const int threads = arguments.common.threads;
  for (const std::string& name : given.models) read_header(name, arguments.head);  // before any is evaluated
  std::string served_lines;
  return evaluate_models(
      arguments,
      [&](const std::string& name) {
        const ModelHeader header = read_header(name, arguments.head);
        const ModelFile model = load_model(header);
        const TokenCorpus corpus = read_text(model.labels.all(), given.data);
        const uint64_t tokens =
            given.limit > 0 ? std::min(given.limit, corpus.examples()) : corpus.examples();
        LanguageRow row{name, {}, {}};
        LanguageEvaluation& e = row.evaluation;
        {
          ProgressLine line(arguments.common.quiet);
          e = evaluate_language(model, corpus, {.limit = given.limit, .threads = threads},
                                [&](uint64_t done) {
                                  line.show({done, tokens, "tokens evaluated"});
                                });
        }
        if (2 * e.unknown > e.tokens)
          warning(fmt::format("{}: {} of {} tokens are unknown to {}; is it a text like the model's?",
                              given.data, grouped(e.unknown), grouped(e.tokens), name));
        Json report = language_json(e, model.log_normalizer);
        if (model.ladder.exists()) {
          const RuntimeModel runtime(header);
          const ServedKind served = served_kind(arguments.ladder, runtime);
          report["served"] = served.json();
          if (served.name != "exact") {
            report["served"] = served_words(served, runtime, corpus);
            served_lines += fmt::format(
                "{}: served by {}; perplexity of the first {} words {:.2f}, {:.2g}% of them above 1\n", name,
                served.text(), grouped(report["served"]["words"].get<uint64_t>()),
                report["served"]["ppl"].get<double>(), 100 * report["served"]["above_one"].get<double>());
          }
        }
        if (given.timing) {
          row.rate = rate_of(header, corpus, threads);
          report.update(rate_json(*row.rate));
        }
        return std::pair(std::move(report), std::move(row));
      },
      [&](const std::vector<LanguageRow>& rows) {
        return language_table(rows) + served_lines +
               (rows.size() == 1 ? language_lines(rows[0].evaluation) : "");
      });
}

}  // namespace selfnorm::cli

#include "lm/lm_evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "classifier/any_model.h"
#include "classifier/runtime_model.h"
#include "family/lm/lm_evaluation.h"
#include "lm/lm_report.h"
#include "model/encoded_states.h"
#include "output.h"
#include "run/progress_line.h"

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
  std::vector<uint32_t> words;
  for (const uint64_t i : positions) words.push_back(corpus.target(i));
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

}  // namespace

int evaluate_language_models(const Arguments& arguments) {
  const EvaluateArguments& given = arguments.evaluate;
  std::vector<ModelHeader> headers;
  for (const std::string& name : given.models) headers.push_back(read_header(name, arguments.head));
  std::vector<LanguageRow> rows;
  nlohmann::ordered_json reports = nlohmann::ordered_json::array();
  for (size_t i = 0; i < headers.size(); ++i) {
    const ModelFile model = load_model(headers[i]);
    const TokenCorpus corpus = read_text(model.labels, given.data);
    const uint64_t tokens = given.limit > 0 ? std::min(given.limit, corpus.examples()) : corpus.examples();
    LanguageRow row{given.models[i], {}, {}};
    {
      ProgressLine line(arguments.common.quiet);
      row.evaluation = evaluate_language(
          model, corpus, {.limit = given.limit, .threads = arguments.common.threads}, [&](uint64_t done) {
            line.show({done, tokens, "tokens evaluated"});
          });
    }
    if (2 * row.evaluation.unknown > row.evaluation.tokens)
      warning(fmt::format("{}: {} of {} tokens are unknown to {}; is it a text like the model's?", given.data,
                          grouped(row.evaluation.unknown), grouped(row.evaluation.tokens), given.models[i]));
    if (given.timing) row.rate = rate_of(headers[i], corpus, arguments.common.threads);
    nlohmann::ordered_json report = language_json(row.evaluation, model.log_normalizer);
    if (row.rate) report.update(rate_json(*row.rate));
    report["model"] = headers[i].path;
    report["data"] = given.data;
    reports.push_back(std::move(report));
    rows.push_back(std::move(row));
  }
  if (arguments.common.json) {
    print_json(reports.size() == 1 ? reports[0] : nlohmann::ordered_json{{"models", reports}});
    return 0;
  }
  print(language_table(rows));
  if (rows.size() == 1) print(language_lines(rows[0].evaluation));
  return 0;
}

}  // namespace selfnorm::cli

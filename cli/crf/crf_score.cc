#include "crf/crf_score.h"

#include <fmt/format.h>

#include <filesystem>

#include "classifier/score_kind.h"
#include "crf/crf_model.h"
#include "family/crf/crf_evaluation.h"
#include "grammar/changed_options.h"
#include "output.h"

namespace selfnorm::cli {
namespace {

void refuse_others(const Arguments& arguments) {
  const std::string& model = arguments.score.model;
  for (const auto& options : {class_options(), density_options()})
    refuse_options(arguments, options, model + " is a chain, which scores the labels of sentences");
  refuse_options(arguments, {"--header"}, model + " is a chain, whose DATA have no header");
}

}  // namespace

LabellingScore::LabellingScore(const CrfModel& model, selfnorm_kind kind)
    : model_(model),
      kind_(kind),
      scorer_(model.shape, model.theta),
      factors_(transition_factors<float>(model.shape, model.theta)) {}

double LabellingScore::operator()(const Sequences& data, uint64_t sentence) {
  if (kind_ == SELFNORM_EXACT) {
    const CrfScores scores = scorer_(data, sentence);
    const auto labels = std::span(data.label).subspan(data.sentence_begin[sentence], scores.length);
    lattice_.forward(scores, factors_);
    return lattice_.log_prob(scores, labels);
  }
  const double score = scorer_.target_score(data, sentence);
  return kind_ == SELFNORM_AMORTISED ? score - crf_normalizer(model_.normalizer, data, sentence) : score;
}

int score_labellings(const Arguments& arguments) {
  const ScoreArguments& given = arguments.score;
  refuse_others(arguments);
  const CrfModel model = open_crf(given.model, arguments.reader.format).model;
  const selfnorm_kind kind = kind_of(given, model.shape.labels, model.normalizer.exists);
  const bool is_piped = given.data == "-" || !std::filesystem::is_regular_file(given.data);
  SequenceStream stream(given.data, model.encoder, true);
  if (!arguments.common.quiet) warn_about_scores(kind, records_of(model), "--exact");
  const bool json = arguments.common.json;
  const std::string head = json ? fmt::format("{{\"kind\": \"{}\", \"sentences\": [", kind_name(kind))
                                : fmt::format("# {}\n", kind_name(kind));
  LabellingScore score(model, kind);
  Sequences sentence;
  SentenceText text;
  uint64_t row = 0;
  for (; stream.next(sentence, text); ++row) {
    const double log_prob = score(sentence, 0);
    if (row == 0) print(head);
    const uint64_t number = text.mark ? text.mark->sentence : row;
    if (json) {
      nlohmann::ordered_json labelling = {
          {"sentence", number}, {"log_prob", log_prob}, {"tokens", sentence.positions()}};
      if (text.mark) labelling["rank"] = text.mark->rank;
      print((row == 0 ? "\n  " : ",\n  ") + labelling.dump());
    } else {
      print(fmt::format("{}\t{}\t{}\t{}{}\n", number, log_prob, kind_name(kind), sentence.positions(),
                        text.mark ? fmt::format("\t{}", text.mark->rank) : ""));
    }
    if (is_piped) flush_output();  // who asks may be waiting for the answer
  }
  if (row == 0) print(head);
  if (json) print("\n]}\n");
  return 0;
}

}  // namespace selfnorm::cli

#include "chain_score.h"

#include <fmt/format.h>

#include "chain_model.h"
#include "changed_options.h"
#include "output.h"
#include "score_kind.h"
#include "selfnorm/analysis/chain_evaluation.h"
#include "selfnorm/normalizer/chain/chain_scorer.h"
#include "selfnorm/normalizer/chain/lattice.h"

namespace selfnorm::cli {
namespace {

// What is taken from the score of a labelling to give its log-probability. Raw and amortised ones take O(T).
class Level {
 public:
  Level(const ChainModel& model, selfnorm_kind kind) : model_(model), kind_(kind) {}

  double operator()(ChainScorer& scorer, const Sequences& sentence) {
    if (kind_ == SELFNORM_EXACT) return lattice_.forward(scorer(sentence, 0));
    return kind_ == SELFNORM_AMORTISED ? chain_normalizer(model_.normalizer, sentence, 0) : 0;
  }

 private:
  const ChainModel& model_;
  selfnorm_kind kind_;
  Lattice lattice_;
};

void refuse_others(const Arguments& arguments) {
  const std::string& model = arguments.score.model;
  for (const auto& options : {class_options(), density_options()})
    refuse_options(arguments, options, model + " is a chain, which scores the labels of sentences");
  refuse_options(arguments, {"--format", "--header"},
                 model + " is a chain: DATA are read as those it was trained on");
}

}  // namespace

int score_labellings(const Arguments& arguments) {
  const ScoreArguments& given = arguments.score;
  refuse_others(arguments);
  const ChainModel model = open_chain(given.model).model;
  ModelHeader header;
  header.has_normalizer = model.normalizer.exists;
  const selfnorm_kind kind = kind_of(given, header);
  const bool is_piped = given.data.empty() || given.data == "-";
  SequenceStream stream(is_piped ? "-" : given.data, model.encoder, true);
  if (kind == SELFNORM_RAW && !arguments.common.quiet)
    warn_about_raw_scores(nlohmann::ordered_json::parse(model.objective_json), "--exact");
  const bool json = arguments.common.json;
  const std::string head = json ? fmt::format("{{\"kind\": \"{}\", \"sentences\": [", kind_name(kind))
                                : fmt::format("# {}\n", kind_name(kind));
  ChainScorer scorer(model.shape, model.theta);
  Level level(model, kind);
  Sequences sentence;
  SentenceText text;
  uint64_t row = 0;
  for (; stream.next(sentence, text); ++row) {
    const double log_prob = scorer.target_score(sentence, 0) - level(scorer, sentence);
    if (row == 0) print(head);
    if (json)
      print((row == 0 ? "\n  " : ",\n  ") + nlohmann::ordered_json{{"sentence", row},
                                                                   {"log_prob", log_prob},
                                                                   {"tokens", sentence.positions()}}
                                                .dump());
    else
      print(fmt::format("{}\t{}\t{}\t{}\n", row, log_prob, kind_name(kind), sentence.positions()));
    if (is_piped) flush_output();  // who asks may be waiting for the answer
  }
  if (row == 0) print(head);
  if (json) print("\n]}\n");
  return 0;
}

}  // namespace selfnorm::cli

#include <fmt/format.h>

#include <filesystem>

#include "classifier/score_kind.h"
#include "commands.h"
#include "crf/crf_model.h"
#include "crf/tag_sheet.h"
#include "family.h"
#include "family/crf/crf_evaluation.h"
#include "math/parallel.h"
#include "normalizer/crf/crf_scorer.h"
#include "normalizer/crf/decode.h"
#include "output.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kSentencesAtOnce = 256, kSentencesOfUnit = 8;

struct ReadSentence {
  Sequences data;
  SentenceText text;
};

// Decodes sentences with room that it keeps; one for each unit of work. `factors` are those of the model.
class Tagger {
 public:
  Tagger(const CrfModel& model, const PairFactors<float>& factors, const TagArguments& given)
      : model_(model), factors_(factors), given_(given), scorer_(model.shape, model.theta) {}

  TaggedSentence operator()(ReadSentence&& read, uint64_t number) {
    const CrfScores scores = scorer_(read.data, 0);
    const bool needs_marginals = given_.marginals || given_.all_marginals;
    const bool is_posterior = given_.decode == "posterior", is_sample = given_.decode == "sample";
    if (needs_marginals || is_posterior || is_sample || given_.score == "exact")
      lattice_.forward(scores, factors_);
    if (needs_marginals || is_posterior) lattice_.backward(scores);
    TaggedSentence out{std::move(read.text), {}, {}, {}};
    if (is_posterior)
      out.labellings.push_back(posterior_decoding<float>(scores, lattice_));
    else if (is_sample)
      draw(scores, number, out.labellings);
    else if (given_.n_best > 1)
      out.labellings = n_best<float>(scores, given_.n_best);
    else
      out.labellings.push_back(viterbi<float>(scores));
    if (given_.score != "none") {
      const bool is_exact = given_.score == "exact";
      const double b = is_exact ? 0 : crf_normalizer(model_.normalizer, read.data, 0);
      for (const Labelling& y : out.labellings)
        out.log_prob.push_back(is_exact ? lattice_.log_prob(scores, y.labels) : y.score - b);
    }
    if (needs_marginals) out.marginals.assign(lattice_.marginals().begin(), lattice_.marginals().end());
    return out;
  }

 private:
  void draw(const CrfScores& scores, uint64_t number, std::vector<Labelling>& out) const {
    RandomStream random(given_.seed, number);
    while (out.size() < given_.n_best) out.push_back(sample_labelling<float>(scores, lattice_, random));
  }

  const CrfModel& model_;
  const PairFactors<float>& factors_;
  const TagArguments& given_;
  CrfScorer scorer_;
  Lattice lattice_;
};

}  // namespace

int tag_command(const Arguments& arguments) {
  if (arguments.tag.marginals && arguments.tag.all_marginals)
    throw Error("give only one of --marginals and --all-marginals");
  const ThreadLimit limit(arguments.common.threads);
  return run_for_family(arguments, {arguments.tag.model});
}

int tag_sentences(const Arguments& arguments) {
  const TagArguments& given = arguments.tag;
  const CrfModel model = open_crf(given.model, given.format).model;
  const std::string data = given.data.empty() ? "-" : given.data;
  const bool is_piped = data == "-" || !std::filesystem::is_regular_file(data);
  SequenceStream stream(data, model.encoder, false);
  if (given.score == "raw" && !arguments.common.quiet)
    warn_about_scores(model.normalizer.exists ? SELFNORM_AMORTISED : SELFNORM_RAW, records_of(model),
                      "--score exact");
  const std::string kind = given.score == "none"                             ? ""
                           : given.score == "raw" && model.normalizer.exists ? kind_name(SELFNORM_AMORTISED)
                                                                             : given.score;
  const TagSheet sheet({.json = arguments.common.json,
                        .numbers_labellings = given.n_best > 1,
                        .all_marginals = given.all_marginals,
                        .kind = kind},
                       model.encoder);
  RowSheet rows(arguments.common.json, "",
                {{"kind", kind.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(kind)},
                 {"labels", model.encoder.labels}},
                "sentences");
  // Who asks through a pipe may be waiting for the answer.
  const size_t at_once = is_piped ? 1 : kSentencesAtOnce;
  const PairFactors<float> factors = transition_factors<float>(model.shape, model.theta);
  uint64_t done = 0;
  std::vector<ReadSentence> block;
  std::vector<std::string> texts;
  SentenceText rest;  // after the last sentence
  for (bool is_end = false; !is_end;) {
    block.clear();
    while (!is_end && block.size() < at_once) {
      ReadSentence next;
      is_end = !stream.next(next.data, next.text);
      if (is_end)
        rest = std::move(next.text);
      else
        block.push_back(std::move(next));
    }
    texts.resize(block.size());
    parallel_ranges(block.size(), kSentencesOfUnit, [&](size_t begin, size_t end) {
      Tagger tagger(model, factors, given);
      for (size_t i = begin; i < end; ++i)
        texts[i] = sheet.sentence(done + i, tagger(std::move(block[i]), done + i));
    });
    for (const std::string& text : texts) rows.put(text);
    if (is_piped) flush_output();
    done += block.size();
  }
  rows.finish();
  if (!arguments.common.json)
    for (const auto& [before, line] : rest.others) print(line + "\n");
  return 0;
}

}  // namespace selfnorm::cli

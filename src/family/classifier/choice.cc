#include "family/classifier/choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/grouped.h"
#include "family/classifier/loop.h"

namespace selfnorm {
namespace {

constexpr uint32_t kManyClassesSparse = 1000, kManyClassesDense = 10'000;
// Multiplications up to which all classes are summed over in training: about a minute on two cores.
constexpr double kExactWork = 2e12;
constexpr uint64_t kFullPasses = 100;  // of lbfgs
constexpr double kStrongestL2 = 100;   // over the number of rows: where the path of l2 starts

constexpr uint64_t kFewTexts = 10'000;
constexpr uint32_t kShortestPiece = 3, kLongestPiece = 5;

// Of an objective or an encoder.
const std::vector<std::string> kDeciding = {"objective",
                                            "encoder",
                                            "alpha",
                                            "delta",
                                            "gamma",
                                            "centre",
                                            "learn-centre",
                                            "samples",
                                            "proposal",
                                            "proposal-power",
                                            "proposal-sharing",
                                            "normalizer",
                                            "normalizer-hidden",
                                            "calibrate",
                                            "dimension",
                                            "hidden",
                                            "dropout",
                                            "embeddings",
                                            "unlabelled",
                                            "shard"};
// Of a model without an encoder, and of its regulariser.
const std::vector<std::string> kLinear = {"optimiser", "l1", "arithmetic"};
const std::vector<std::string> kRegularised = {"l1", "l2", "l2-from"};
// What the features of texts are.
const std::vector<std::string> kReading = {
    "ngrams", "char-ngrams-min", "char-ngrams-max", "min-count", "max-vocabulary", "hash-buckets", "tf-idf"};

bool has_few_classes(const Dataset& data) {
  return data.is_joint() ||
         data.classes() < (data.features.is_sparse ? kManyClassesSparse : kManyClassesDense);
}

size_t linear_parameters(const Dataset& data) {
  return size_t{data.is_joint() ? 1 : data.classes()} * (data.features.columns() + 1);
}

}  // namespace

const std::vector<std::string>& choosing_options() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out = kDeciding;
    for (const auto* names : {&kLinear, &kRegularised, &kReading})
      for (const std::string& name : *names)
        if (std::ranges::find(out, name) == out.end()) out.push_back(name);
    return out;
  }();
  return all;
}

bool is_decided(const IsGiven& is_given) { return std::ranges::any_of(kDeciding, is_given); }

bool wants_pieces(const Dataset& texts, const IsGiven& is_given) {
  return texts.examples() < kFewTexts && has_few_classes(texts) && std::ranges::none_of(kReading, is_given);
}

TextOptions with_pieces(TextOptions text) {
  text.char_ngrams_min = kShortestPiece;
  text.char_ngrams_max = kLongestPiece;
  return text;
}

bool makes_full_passes(const Dataset& data, TrainOptions options) {
  options.objective.name = "exact";
  return choose_optimiser(options, linear_parameters(data)) == "lbfgs";
}

TrainingChoice choose_training(const Dataset& data, bool has_held_out, const IsGiven& is_given,
                               TrainOptions& options, bool has_pieces) {
  const uint32_t classes = data.classes();
  const bool is_sparse = data.features.is_sparse, is_few = has_few_classes(data);
  const std::string exact = option_text("objective", "exact"), nce = option_text("objective", "nce");
  TrainingChoice out;
  const auto choose_l2 = [&] {
    if (!has_held_out || options.patience == 0 || std::ranges::any_of(kRegularised, is_given) ||
        !makes_full_passes(data, options))
      return;
    options.l2_from = kStrongestL2 / static_cast<double>(std::max<uint64_t>(1, data.examples()));
    options.l2 = 0;
    out.options.insert(out.options.end(), {"l2-from", "l2"});
  };
  if (is_few || std::ranges::any_of(kLinear, is_given)) {
    options.objective.name = "exact";
    out.options = {"objective"};
    if (has_pieces) out.options.insert(out.options.end(), {"char-ngrams-min", "char-ngrams-max"});
    choose_l2();
    out.note = fmt::format(
        "chosen{}: a linear model{} by maximum likelihood ({}){}; {} draws log Z to 0 at a price in "
        "likelihood",
        data.is_joint() ? "" : fmt::format(" for {} classes", grouped(classes)),
        has_pieces ? fmt::format(" of words and pieces of words ({} {})",
                                 option_text("char-ngrams-min", std::to_string(kShortestPiece)),
                                 option_text("char-ngrams-max", std::to_string(kLongestPiece)))
                   : "",
        exact,
        is_few ? fmt::format(", because sums over so few {} cost little",
                             data.is_joint() ? "alternatives" : "classes")
               : "",
        option_text("objective", "penalty"));
    return out;
  }
  const double passes = static_cast<double>(is_sparse ? options.epochs : kFullPasses);
  const double width = is_sparse ? options.encoder.dimension : data.features.columns();
  const double work = passes * 3 * static_cast<double>(data.examples()) * classes * width;
  options.objective.name = work <= kExactWork ? "exact" : "nce";
  if (is_sparse) options.encoder.kind = "bag";
  out.options = {"objective", "encoder"};
  if (!is_sparse && options.objective.name == "exact") choose_l2();
  const std::string encoder = is_sparse ? option_text("encoder", "bag") + " " : "";
  out.note =
      work <= kExactWork
          ? fmt::format(
                "chosen for {} classes: {}{}, maximum likelihood, because {} rows are few enough to sum over "
                "all classes; {}{} does not, and is faster",
                grouped(classes), encoder, exact, grouped(data.examples()), encoder, nce)
          : fmt::format("chosen for {} classes: {}{}, which does not sum over them; {} does",
                        grouped(classes), encoder, nce, exact);
  return out;
}

}  // namespace selfnorm

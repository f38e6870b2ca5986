#include "family/classifier/choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace selfnorm {
namespace {

Dataset of_classes(uint32_t classes, bool is_sparse, uint64_t rows) {
  Dataset out;
  out.labels = ClassNames::numbers(classes);
  out.target.assign(rows, 0);
  out.features.is_sparse = is_sparse;
  out.features.sparse.columns = 50;
  out.features.sparse.begin.assign(rows + 1, 0);
  out.features.dense = {is_sparse ? 0 : rows, 50, std::vector<float>(is_sparse ? 0 : rows * 50)};
  return out;
}

IsGiven given(std::vector<std::string> names) {
  return [names](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
}

TEST(Choice, FewClassesGetMaximumLikelihoodAndAPathOfL2) {
  TrainOptions options;
  const TrainingChoice choice = choose_training(of_classes(999, true, 400), true, given({}), options);
  EXPECT_EQ(options.objective.name, "exact");
  EXPECT_EQ(options.encoder.kind, "auto");
  EXPECT_EQ(options.l2, 0);
  EXPECT_DOUBLE_EQ(options.l2_from, 0.25);
  EXPECT_EQ(choice.options, (std::vector<std::string>{"objective", "l2-from", "l2"}));
  for (const auto& [has_held_out, name] :
       std::vector<std::pair<bool, std::string>>{{false, "epochs"}, {true, "l2"}}) {
    TrainOptions plain;
    choose_training(of_classes(999, true, 400), has_held_out, given({name}), plain);
    EXPECT_EQ(plain.l2, 1e-6) << name;
    EXPECT_EQ(plain.l2_from, 0) << name;
  }
}

TEST(Choice, ManyClassesGetNoiseWhereSumsTakeTooLong) {
  TrainOptions few_rows, many_rows, dense, linear;
  choose_training(of_classes(2000, true, 1000), true, given({}), few_rows);
  EXPECT_EQ(few_rows.objective.name, "exact");
  EXPECT_EQ(few_rows.encoder.kind, "bag");
  many_rows.encoder.dimension = 4000;
  choose_training(of_classes(20000, true, 1000), true, given({}), many_rows);
  EXPECT_EQ(many_rows.objective.name, "nce");
  choose_training(of_classes(2000, false, 1000), true, given({}), dense);
  EXPECT_EQ(dense.encoder.kind, "auto");
  EXPECT_GT(dense.l2_from, 0);
  TrainOptions many, too_many;
  choose_training(of_classes(12000, false, 1000), true, given({}), many);
  EXPECT_EQ(many.objective.name, "exact");
  EXPECT_GT(many.l2_from, 0);
  choose_training(of_classes(12000, false, 20000), true, given({}), too_many);
  EXPECT_EQ(too_many.objective.name, "nce");
  EXPECT_EQ(too_many.l2_from, 0);
  choose_training(of_classes(20000, true, 1000), true, given({"optimiser"}), linear);
  EXPECT_EQ(linear.objective.name, "exact");
  EXPECT_EQ(linear.encoder.kind, "auto");
}

struct ReadTexts {
  Dataset data;
  std::optional<TextEncoder> text;
};

TEST(Choice, FewTextsOfFewClassesGetPiecesOfWords) {
  const TextEncoder words({.tf_idf = false}, std::vector<std::string>{"a", "b"}, {});
  const auto pieces_of = [&](uint32_t classes, uint64_t rows, const std::vector<std::string>& names,
                             bool has_text = true, uint32_t columns = 50) {
    ReadTexts read{of_classes(classes, true, rows), has_text ? std::optional(words) : std::nullopt};
    TextOptions text{.lowercase = false};
    const bool has_pieces = take_pieces(read, text, given(names), {}, [&](const TextOptions& asked) {
      EXPECT_FALSE(asked.lowercase);
      ReadTexts again{of_classes(classes, true, rows), TextEncoder(asked, {}, {})};
      again.data.features.sparse.columns = columns;
      return again;
    });
    EXPECT_EQ(text.char_ngrams_min, has_pieces ? 3u : 0u);
    EXPECT_EQ(text.char_ngrams_max, has_pieces ? 5u : 0u);
    if (read.text) {
      EXPECT_EQ(read.text->options().char_ngrams_max, text.char_ngrams_max);
    }
    return has_pieces;
  };
  EXPECT_TRUE(pieces_of(999, 9999, {"epochs", "l2", "lowercase"}));
  EXPECT_FALSE(pieces_of(1000, 9999, {}));
  EXPECT_FALSE(pieces_of(999, 10'000, {}));
  EXPECT_FALSE(pieces_of(3, 60, {}, false));             // rows of numbers
  EXPECT_FALSE(pieces_of(999, 60, {}, true, 1u << 30));  // too many for full passes
  for (const char* name : {"ngrams", "char-ngrams-min", "char-ngrams-max", "min-count", "max-vocabulary",
                           "hash-buckets", "tf-idf"}) {
    EXPECT_FALSE(pieces_of(3, 60, {name})) << name;
    EXPECT_NE(std::ranges::find(choosing_options(), name), choosing_options().end()) << name;
  }
  TrainOptions options;
  const TrainingChoice choice = choose_training(of_classes(3, true, 400), true, given({}), options, true);
  EXPECT_EQ(choice.options,
            (std::vector<std::string>{"objective", "char-ngrams-min", "char-ngrams-max", "l2-from", "l2"}));
  EXPECT_NE(choice.note.find("words and pieces of words (char-ngrams-min 3 char-ngrams-max 5)"),
            std::string::npos)
      << choice.note;
}

TEST(Choice, AnOptionOfAnObjectiveOrEncoderDecides) {
  EXPECT_FALSE(is_decided(given({"epochs", "l2", "optimiser"})));
  for (const char* name : {"objective", "alpha", "samples", "dimension", "calibrate", "hidden"})
    EXPECT_TRUE(is_decided(given({name}))) << name;
  for (const char* name : {"objective", "l2", "optimiser"})
    EXPECT_NE(std::ranges::find(choosing_options(), name), choosing_options().end()) << name;
}

}  // namespace
}  // namespace selfnorm

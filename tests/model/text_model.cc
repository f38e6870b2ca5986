#include "model/text_model.h"

#include <gtest/gtest.h>

#include "selfnorm/error.h"

namespace selfnorm::test {
namespace {

std::string error_of(const std::string& options, uint32_t features) {
  try {
    restored_text({.options_json = options, .vocabulary = {}, .idf = {}, .features = features}, "m.st");
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(TextModel, StoreAndRestoreAreIdentity) {
  const TextEncoder encoder({.ngrams = 1, .min_count = 2, .lowercase = false}, {"a", "b"}, {1, 0.5f});
  ModelFile model;
  model.features = 2;
  store_text(encoder, model);
  EXPECT_EQ(model.input, ModelInput::Text);
  const TextEncoder again = restored_text(model, "m.st");
  EXPECT_EQ(again.vocabulary(), encoder.vocabulary());
  EXPECT_EQ(again.idf(), encoder.idf());
  EXPECT_EQ(again.options().ngrams, 1u);
  EXPECT_EQ(again.options().min_count, 2u);
  EXPECT_FALSE(again.options().lowercase);
  EXPECT_EQ(again.encode("b B a").column, (std::vector<uint32_t>{0, 1}));
}

// Files written before there were character n-grams have none.
TEST(TextModel, CharacterNGramsAreOptional) {
  const TextEncoder encoder({.ngrams = 1, .char_ngrams_min = 2, .char_ngrams_max = 3, .tf_idf = false},
                            {"#<a", "a"}, {});
  ModelFile model;
  model.features = 2;
  store_text(encoder, model);
  const TextEncoder again = restored_text(model, "m.st");
  EXPECT_EQ(again.options().char_ngrams_min, 2u);
  EXPECT_EQ(again.options().char_ngrams_max, 3u);
  EXPECT_EQ(again.encode("a").column, (std::vector<uint32_t>{0, 1}));

  const std::string older =
      R"({"min_count":1,"max_vocabulary":0,"tf_idf":false,"lowercase":true,"ngrams":2,"hash_buckets":64)";
  EXPECT_EQ(restored_text({older + "}", {}, {}, 64}, "m.st").options().char_ngrams_max, 0u);
  const std::string damaged = "m.st: the text encoder of the model is damaged: ";
  EXPECT_EQ(error_of(older + R"(,"char_ngrams_min":3,"char_ngrams_max":2})", 64),
            damaged +
                "character n-grams of 3 to 2 characters: expected 1 <= shortest <= longest <= 12, or 0 and 0 "
                "for none");
  EXPECT_EQ(error_of(older + R"(,"char_ngrams_min":-1,"char_ngrams_max":2})", 64),
            damaged + "\"char_ngrams_min\" is -1, expected a whole number from 0 to 4294967295");
  EXPECT_EQ(error_of(older + R"(,"char_ngrams_min":1})", 64).rfind(damaged, 0), 0u);
}

TEST(TextModel, OptionsThatDoNotFitTheModelAreRefused) {
  const auto options = [](const std::string& ngrams, const std::string& buckets) {
    return R"({"min_count":1,"max_vocabulary":0,"tf_idf":false,"lowercase":true,"ngrams":)" + ngrams +
           R"(,"hash_buckets":)" + buckets + "}";
  };
  const std::string damaged = "m.st: the text encoder of the model is damaged: ";
  EXPECT_EQ(error_of(options("2", "64"), 64), "accepted");
  EXPECT_EQ(error_of(options("2", "1000000000"), 64),
            damaged + "it gives 1000000000 features, the model has 64");
  EXPECT_EQ(error_of(options("2", "0"), 64), damaged + "it gives 0 features, the model has 64");
  for (const char* number : {"-1", "4294967360", "1.5", "\"64\"", "null"})
    EXPECT_EQ(error_of(options("2", number), 64),
              damaged + "\"hash_buckets\" is " + number + ", expected a whole number from 0 to 4294967295");
  EXPECT_EQ(error_of(options("9", "64"), 64), damaged + "ngrams = 9 is out of range; expected 1..8");
  EXPECT_EQ(error_of("{}", 64).rfind(damaged, 0), 0u);
  EXPECT_EQ(error_of("{", 64), "m.st: metadata \"text\" is not JSON");
}

}  // namespace
}  // namespace selfnorm::test

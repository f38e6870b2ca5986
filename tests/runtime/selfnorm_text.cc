// Texts in the C interface: the features are those of the encoder in training, bit for bit.
#include <gtest/gtest.h>

#include <filesystem>

#include "data/text/text_encoder.h"
#include "model/text_model.h"
#include "runtime/random_model.h"

namespace selfnorm::test {
namespace {

const char* const kTexts[] = {"Top up my card", "", "the THE the", "caf\xC3\xA9 \xFF na\xC3\xAFve top",
                              "a.b,c top up 12_3"};

ModelFile text_model(std::mt19937& random, const TextEncoder& encoder) {
  ModelFile model = random_model(random, 5, encoder.features(), WeightKind::Float32);
  store_text(encoder, model);
  return model;
}

void expect_same_features(const TextEncoder& encoder) {
  std::mt19937 random(1);
  OpenModel open(text_model(random, encoder));
  for (const std::string text : kTexts) {
    const SparseRow expected = encoder.encode(text);
    std::vector<uint32_t> index(200);
    std::vector<float> value(200);
    size_t nnz = 0;
    ASSERT_EQ(
        selfnorm_encode_text(open.get(), text.data(), text.size(), 200, index.data(), value.data(), &nnz),
        SELFNORM_OK)
        << selfnorm_error_message();
    index.resize(nnz);
    value.resize(nnz);
    EXPECT_EQ(index, expected.column) << text;
    EXPECT_EQ(value, expected.value) << text;
    const uint32_t classes[] = {4, 0};
    double by_text[2], by_features[2], log_prob = 0;
    uint32_t best = 0;
    ASSERT_EQ(selfnorm_score_text(open.get(), text.data(), text.size(), classes, 2, SELFNORM_EXACT, by_text),
              SELFNORM_OK);
    ASSERT_EQ(selfnorm_score_sparse(open.get(), index.data(), value.data(), nnz, classes, 2, SELFNORM_EXACT,
                                    by_features),
              SELFNORM_OK);
    EXPECT_EQ(by_text[0], by_features[0]);
    EXPECT_EQ(by_text[1], by_features[1]);
    ASSERT_EQ(selfnorm_top_text(open.get(), text.data(), text.size(), 1, SELFNORM_EXACT, &best, &log_prob),
              SELFNORM_OK);
    EXPECT_LT(best, 5u);
  }
}

TEST(RuntimeText, FeaturesAreThoseOfTraining) {
  TextOptions words;
  expect_same_features(
      {words, {"card", "my", "the", "the the", "top", "top up", "up"}, {1, 2, 1.5f, 3, 1, 2, 1}});
  TextOptions counts = words;
  counts.tf_idf = counts.lowercase = false;
  counts.char_ngrams_min = 1;
  counts.char_ngrams_max = 3;
  expect_same_features({counts, {"THE", "#<to", "#op", "#\xC3\xA9", "top", "#p>"}, {}});  // in no order
  TextOptions hashed = words;
  hashed.hash_buckets = 17;
  expect_same_features({hashed, {}, std::vector<float>(17, 1.25f)});
}

TEST(RuntimeText, WhatIsRefused) {
  std::mt19937 random(2);
  OpenModel numbers(random_model(random, 3, 4, WeightKind::Float32));
  double out = 0;
  const uint32_t k = 0;
  EXPECT_EQ(selfnorm_score_text(numbers.get(), "a", 1, &k, 1, SELFNORM_RAW, &out), SELFNORM_ERROR_FAMILY);
  OpenModel texts(text_model(random, {TextOptions{}, {"a", "b"}, {1, 1}}));
  uint32_t index = 0;
  float value = 0;
  size_t nnz = 0;
  EXPECT_EQ(selfnorm_encode_text(texts.get(), "a b", 3, 1, &index, &value, &nnz), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(nnz, 2u);
  EXPECT_EQ(selfnorm_encode_text(texts.get(), nullptr, 3, 1, &index, &value, &nnz), SELFNORM_ERROR_ARGUMENT);
}

TEST(RuntimeText, ARunDirectoryIsOpened) {
  std::mt19937 random(3);
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "run-of-runtime-text";
  std::filesystem::create_directories(folder);
  save_model(random_model(random, 3, 4, WeightKind::Float32), (folder / "model.safetensors").string());
  selfnorm_model* model = nullptr;
  EXPECT_EQ(selfnorm_open(folder.c_str(), &model), SELFNORM_OK) << selfnorm_error_message();
  selfnorm_close(model);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace selfnorm::test

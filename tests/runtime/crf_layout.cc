#include "selfnorm/runtime/crf_layout.h"

#include <gtest/gtest.h>

#include "runtime/editable_file.h"
#include "runtime/random_crf.h"

namespace selfnorm::test {
namespace {

TEST(RuntimeCrf, DescribesTheModel) {
  CrfModel model = random_crf({.unigrams = 1500, .bigrams = 2});
  model.encoder.labels[1] = "b\0c";
  model.normalizer.exists = true;
  const std::string bytes = saved_bytes(model);
  Editable old(bytes);  // as files were written before there was an index
  old.drop("unigrams.index");
  for (const std::string& file : {bytes, old.written()}) {
    const OpenModel open(file);
    size_t length = 0;
    uint32_t number = 9;
    ASSERT_EQ(open.status(), SELFNORM_OK) << selfnorm_error_message();
    EXPECT_EQ(selfnorm_model_family(open), SELFNORM_CHAIN);
    EXPECT_EQ(selfnorm_model_weights(open), SELFNORM_FLOAT32);
    EXPECT_EQ(selfnorm_classes(open), 3u);
    EXPECT_EQ(selfnorm_features(open), 0u);
    EXPECT_EQ(selfnorm_order(open), 0u);
    EXPECT_EQ(selfnorm_attributes(open), 1500u);
    EXPECT_EQ(selfnorm_pair_attributes(open), 2u);
    EXPECT_EQ(selfnorm_has_amortised_normalizer(open), 1);
    EXPECT_EQ(selfnorm_amortised_normalizer_units(open), 0u);
    EXPECT_EQ(std::string(selfnorm_label(open, 2, &length), 2), "L2");
    EXPECT_EQ(selfnorm_class_of_label(open, "b", 1, &number), SELFNORM_OK);
    EXPECT_EQ(number, 1u);
    EXPECT_STREQ(selfnorm_metadata(open, "family", &length), "chain");
    EXPECT_EQ(length, 5u);
    for (const uint32_t a : {0u, 777u, 1499u}) {
      const std::string text = "u" + std::to_string(a);
      EXPECT_EQ(selfnorm_attribute_id(open, text.data(), text.size(), &number), SELFNORM_OK);
      EXPECT_EQ(number, a);
    }
    EXPECT_EQ(selfnorm_pair_attribute_id(open, "b1", 2, &number), SELFNORM_OK);
    EXPECT_EQ(number, 1u);
    EXPECT_EQ(selfnorm_attribute_id(open, "b1", 2, &number), SELFNORM_ERROR_ATTRIBUTE);
    EXPECT_STREQ(selfnorm_error_message(), "the model has no attribute \"b1\"");
    EXPECT_EQ(selfnorm_pair_attribute_id(open, nullptr, 0, &number), SELFNORM_ERROR_ATTRIBUTE);
    EXPECT_EQ(number, 1u);
    EXPECT_EQ(selfnorm_attribute_id(open, nullptr, 1, &number), SELFNORM_ERROR_ARGUMENT);
  }
}

TEST(RuntimeCrf, DamagedFilesAreRefusedOrAnswerWithErrors) {
  const CrfModel model = random_crf({.unigrams = 1100, .bigrams = 2});
  const std::string good = saved_bytes(model);
  for (size_t n = 0; n < good.size(); n += 997)
    EXPECT_EQ(OpenModel(good.substr(0, n)).status(), SELFNORM_ERROR_FORMAT);
  const std::vector<std::pair<const char*, const char*>> wrong = {{"labels", "1"},
                                                                  {"labels", "4"},
                                                                  {"unigrams", "9"},
                                                                  {"bigrams", "-1"},
                                                                  {"bigrams", "0"},
                                                                  {"transitions", "no"},
                                                                  {"normalizer", "some"},
                                                                  {"normalizer_per_position", "inf"},
                                                                  {"normalizer_per_sentence", "1"},
                                                                  {"format_version", "2"},
                                                                  {"format", "other"}};
  for (const auto& [key, value] : wrong) {
    Editable edit(good);
    edit.file.metadata[key] = value;
    EXPECT_EQ(OpenModel(edit.written()).status(), SELFNORM_ERROR_FORMAT) << key << " " << value;
  }
  for (const char* name : {"weight", "transition", "pair", "bias", "labels.bytes", "unigrams.offsets"}) {
    Editable edit(good);
    edit.drop(name);
    EXPECT_EQ(OpenModel(edit.written()).status(), SELFNORM_ERROR_FORMAT) << name;
  }
  const selfnorm_sentence x = {2, {}, {}};
  for (const char* name : {"transition", "bias"}) {
    Editable edit(good);
    edit.set(name, 2, 0x7fc00000u);  // NaN, which open does not look for
    const OpenModel open(edit.written());
    CrfMemory memory(open, 2);
    uint32_t labels[2];
    double out[6];
    for (const selfnorm_kind kind : {SELFNORM_RAW, SELFNORM_EXACT})
      EXPECT_EQ(selfnorm_tag(open, &x, memory.data(), memory.bytes(), kind, labels, out),
                SELFNORM_ERROR_NOT_FINITE);
    EXPECT_EQ(selfnorm_marginals(open, &x, memory.data(), memory.bytes(), out), SELFNORM_ERROR_NOT_FINITE);
  }
  Editable offsets(good), index(good);
  for (size_t i = 0; i < 8; ++i) offsets.set("labels.offsets", i, 0xfffffff0u);
  for (size_t i = 0; i < 4096; ++i) index.set("unigrams.index", i, 5);
  size_t length = 9;
  uint32_t number = 9;
  EXPECT_EQ(selfnorm_label(OpenModel(offsets.written()), 1, &length), nullptr);
  EXPECT_EQ(selfnorm_attribute_id(OpenModel(index.written()), "u3", 2, &number), SELFNORM_ERROR_ATTRIBUTE);
}

}  // namespace
}  // namespace selfnorm::test

// Encoders, trees and label indices in model files.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "parsed_model.h"
#include "runtime/editable_file.h"
#include "runtime/random_network.h"
#include "selfnorm/error.h"

namespace selfnorm::test {
namespace {

RC_GTEST_PROP(NetworkFile, SaveAndLoadAreIdentity, (uint32_t seed)) {
  std::mt19937 random(seed);
  const Family family = kFamilies[random() % 2];
  const uint32_t classes = 1 + up_to(random, 20), hidden = static_cast<uint32_t>(random() % 3);
  ModelFile bag = random_bag_model(random, family, classes, hidden);
  if (random() % 2 == 0) bag.feature_names.assign(bag.encoder.inputs, "f");
  RC_ASSERT(parse(saved_bytes(bag)) == bag);
  ModelFile context = random_context_model(random, family, classes, hidden);
  if (random() % 2 == 0) context.unknown = "w1";
  RC_ASSERT(parse(saved_bytes(context)) == context);
}

TEST(NetworkFile, TextBagsAndNormalizersRoundTrip) {
  std::mt19937 random(1);
  ModelFile model = random_bag_model(random, Family::Multiclass, 4, 3);
  model.input = ModelInput::Text;
  model.text_json = "{}";
  model.vocabulary.assign(model.encoder.inputs, "word");
  model.idf = normals(random, model.encoder.inputs);
  model.normalizer = random_normalizer(random, 3, 2);
  EXPECT_EQ(parse(saved_bytes(model)), model);
  for (const WeightKind kind : {WeightKind::Bfloat16, WeightKind::Int8}) {
    model.weights = kind;
    const ModelFile once = parse(saved_bytes(model));
    EXPECT_EQ(once.encoder, model.encoder);
    EXPECT_EQ(parse(saved_bytes(once)), once);
  }
}

TEST(NetworkFile, RefusesMetadataThatDoNotFit) {
  std::mt19937 random(2);
  ModelFile model = random_context_model(random, Family::Multiclass, 5, 3);
  const auto check = [&model](const char* key, const char* value, const char* message) {
    Editable edit(model);
    if (value == nullptr)
      edit.file.metadata.erase(key);
    else
      edit.file.metadata[key] = value;
    const std::string bad = edit.written(), error = error_of(bad);
    EXPECT_NE(error.find(message), std::string::npos) << key << ": " << error;
    EXPECT_EQ(OpenModel(bad).status(), SELFNORM_ERROR_FORMAT) << key;
  };
  check("encoder", "bog", "expected one of bag, context");
  check("encoder", "bag", "when, and only when, the input is context");
  check("encoder", nullptr, "when, and only when, the input is context");
  check("input", "sparse", "when, and only when, the input is context");
  check("positions", nullptr, "expected metadata \"positions\"");
  check("positions", "0", "expected 1 .. 15");
  check("positions", "16", "expected 1 .. 15");
  check("positions", "9", "expected F32 [3, ");
  check("inputs", nullptr, "expected metadata \"inputs\"");
  check("inputs", "5", "expected one more than the classes");
  check("features", "4", "expected the 3 values of the encoder's state");
  check("family", "joint", "expected 0 for the joint family");
  model = random_bag_model(random, Family::Multiclass, 5, 0);
  check("inputs", "0", "expected at least 1");
  check("input", "dense", "expects input sparse, text or context");
  check("positions", "1", "expected metadata \"positions\"");
  check("encoder", nullptr, "expected metadata \"inputs\"");
  check("family", "hierarchical", "and log_normalizer 0");
}

TEST(NetworkFile, RefusesTensorsThatDoNotFit) {
  std::mt19937 random(3);
  const ModelFile model = random_context_model(random, Family::Hierarchical, 5, 3);
  const auto refused = [](const Editable& edit, const char* message) {
    const std::string bad = edit.written(), error = error_of(bad);
    EXPECT_NE(error.find(message), std::string::npos) << error;
    EXPECT_EQ(OpenModel(bad).status(), SELFNORM_ERROR_FORMAT);
  };
  for (const char* name :
       {"encoder.embedding", "encoder.hidden_weight", "encoder.hidden_bias", "tree.parent"}) {
    Editable edit(model);
    edit.drop(name);
    refused(edit, "no tensor");
  }
  Editable edit(model);
  edit.tensor("labels.index").shape = {4, 4};
  refused(edit, "expected U32 [16]");
  edit = Editable(model);
  edit.tensor("encoder.embedding").dtype = runtime::Dtype::I32;
  refused(edit, "expected F32 [6, ");
  edit = Editable(model);
  edit.drop("labels.index");
  EXPECT_EQ(error_of(edit.written()), "accepted");
  edit.drop("labels.bytes");
  edit.drop("labels.offsets");
  EXPECT_EQ(error_of(edit.written()), "accepted");
  edit.file.tensors.push_back({"log_carrier", runtime::Dtype::F32, {4}, edit.tensor("bias").data});
  refused(edit, "expected only in multiclass models");

  const ModelFile flat = random_model(random, 3, 2, WeightKind::Float32);
  edit = Editable(flat);
  edit.file.tensors.push_back({"tree.parent", runtime::Dtype::F32, {3}, edit.tensor("bias").data});
  refused(edit, "expected only in hierarchical models");
  edit = Editable(flat);
  edit.file.tensors.push_back({"encoder.hidden_bias", runtime::Dtype::F32, {3}, edit.tensor("bias").data});
  refused(edit, "expected only with metadata \"encoder\"");
}

// What opening does not scan, loading does.
TEST(NetworkFile, LoadingRefusesBadContents) {
  std::mt19937 random(4);
  const ModelFile model = random_context_model(random, Family::Hierarchical, 5, 3);
  const uint32_t nan = 0x7FC00000u;
  const auto check = [&model](const char* name, size_t i, uint32_t value, const char* message) {
    Editable edit(model);
    edit.set(name, i, value);
    const std::string error = error_of(edit.written());
    EXPECT_NE(error.find(message), std::string::npos) << name << ": " << error;
  };
  check("encoder.embedding", 2, nan, "encoder.embedding: not finite (element 2)");
  check("encoder.hidden_weight", 1, nan, "encoder.hidden_weight: not finite (element 1)");
  check("encoder.hidden_bias", 0, nan, "encoder.hidden_bias: not finite (element 0)");
  check("tree.parent", 0, model.tree[1], "expected a free side of an inner node after it");
  check("tree.parent", 0, 8, "expected a free side");
  check("tree.parent", 7, 4, "expected a free side");
  check("tree.parent", 8, 0, "the last node is not the root");
  check("tree.parent", 2, runtime::kNoParent, "expected a free side");
  for (size_t slot = 0; slot < 16; ++slot) check("labels.index", slot, 5, "found string 5 of 5");
  Editable edit(model);
  for (size_t slot = 0; slot < 16; ++slot) edit.set("labels.index", slot, runtime::kEmptySlot);
  EXPECT_NE(error_of(edit.written()).find("does not find string 0"), std::string::npos);

  ModelFile bad = model;
  std::swap(bad.tree[0], bad.tree[8]);
  EXPECT_THROW(saved_bytes(bad), Error);
  bad = model;
  bad.encoder.embedding[0] = INFINITY;
  EXPECT_THROW(saved_bytes(bad), Error);
}

// Each truncation is refused, and no single wrong byte crashes a call or makes it give what is not a number.
TEST(NetworkFile, HostileBytes) {
  std::mt19937 random(8);
  for (const Family family : kFamilies) {
    const std::string good = saved_bytes(random_context_model(random, family, 4, 3));
    for (size_t n = 0; n < good.size(); ++n) EXPECT_NE(error_of(good.substr(0, n)), "accepted") << n;
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ static_cast<char>(1 << random() % 8));
      error_of(bad);
      OpenModel open(bad);
      selfnorm_state state;
      if (open.status() != SELFNORM_OK || selfnorm_begin_sentence(open, &state) != SELFNORM_OK) continue;
      for (const bool precomputed : {false, true}) {
        if (precomputed) selfnorm_precompute(open.get(), 1);
        uint32_t word = 0;
        double out = 0;
        selfnorm_word_id(open, "w3", 2, &word);
        selfnorm_score_word(open, &state, word, SELFNORM_RAW, &out, &state);
        selfnorm_score_words(open, &state, &word, 1, SELFNORM_EXACT, &out);
        EXPECT_TRUE(std::isfinite(out)) << i;
      }
    }
  }
}

TEST(NetworkFile, TheIndexFindsTheFirstOfEqualLabels) {
  std::mt19937 random(5);
  ModelFile model = random_model(random, 1500, 1, WeightKind::Float32);
  model.labels.clear();
  for (uint32_t k = 0; k < 1500; ++k) model.labels.push_back(std::to_string(k % 1400));
  const OpenModel open(model);
  for (uint32_t k = 0; k < 1400; ++k) {
    uint32_t found = 0;
    const std::string label = std::to_string(k);
    ASSERT_EQ(selfnorm_class_of_label(open, label.data(), label.size(), &found), SELFNORM_OK);
    EXPECT_EQ(found, k);
  }
  EXPECT_EQ(parse(saved_bytes(model)), model);
  uint32_t found = 7;
  EXPECT_EQ(selfnorm_class_of_label(open, "1400", 4, &found), SELFNORM_ERROR_CLASS);
  EXPECT_EQ(found, 7u);

  Editable full(model);
  for (size_t slot = 0; slot < 4096; ++slot) full.set("labels.index", slot, 3);
  const OpenModel damaged(full.written());
  EXPECT_EQ(selfnorm_class_of_label(damaged, "5", 1, &found), SELFNORM_ERROR_CLASS);
}

TEST(NetworkFile, LabelsThatAreNumbersAreNotStored) {
  std::mt19937 random(7);
  ModelFile model = random_model(random, 1200, 1, WeightKind::Float32);
  model.labels = ClassNames::numbers(1200);
  const std::string bytes = saved_bytes(model);
  EXPECT_EQ(bytes.find("labels.bytes"), std::string::npos);
  EXPECT_EQ(parse(bytes), model);
  const OpenModel open(bytes);
  uint32_t k = 0;
  size_t length = 9;
  EXPECT_EQ(selfnorm_class_of_label(open, "1199", 4, &k), SELFNORM_OK);
  EXPECT_EQ(k, 1199u);
  for (const std::string other : {"", "-1", "+1", "01", "00", "1200", "4294967296", "1 ", "x"})
    EXPECT_EQ(selfnorm_class_of_label(open, other.data(), other.size(), &k), SELFNORM_ERROR_CLASS) << other;
  EXPECT_EQ(selfnorm_class_of_label(open, "0", 1, &k), SELFNORM_OK);
  EXPECT_EQ(selfnorm_label(open, 3, &length), nullptr);
  EXPECT_EQ(length, 0u);
  std::vector<std::string> labels = model.labels.all();
  std::swap(labels[0], labels[1]);
  model.labels = labels;
  EXPECT_EQ(parse(saved_bytes(model)), model);

  for (const char* value : {"words", "numbers"}) {
    Editable edit(model);
    edit.file.metadata["labels"] = value;
    EXPECT_NE(error_of(edit.written()).find("expected \"numbers\" and no tensors"), std::string::npos);
  }
}

TEST(NetworkFile, ScalesInFloat32AreStillRead) {
  std::mt19937 random(6);
  const ModelFile model = random_model(random, 3, 4, WeightKind::Int8);
  const ModelFile stored = parse(saved_bytes(model));
  Editable edit(model);
  const auto* halves = reinterpret_cast<const uint16_t*>(edit.tensor("weight_scale").data.data());
  const std::vector<uint32_t> wide = {uint32_t{halves[0]} << 16, uint32_t{halves[1]} << 16,
                                      uint32_t{halves[2]} << 16};
  edit.tensor("weight_scale").dtype = runtime::Dtype::F32;
  edit.tensor("weight_scale").data = std::as_bytes(std::span(wide));
  EXPECT_EQ(parse(edit.written()), stored);
  const OpenModel old(edit.written()), current(model);
  const auto x = normals(random, 4);
  const uint32_t classes[] = {0, 1, 2};
  double a[3], b[3];
  ASSERT_EQ(selfnorm_score_dense(old, x.data(), 4, classes, 3, SELFNORM_RAW, a), SELFNORM_OK);
  ASSERT_EQ(selfnorm_score_dense(current, x.data(), 4, classes, 3, SELFNORM_RAW, b), SELFNORM_OK);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(a[i], b[i]);
}

}  // namespace
}  // namespace selfnorm::test

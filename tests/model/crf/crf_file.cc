#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>
#include <tuple>

#include "model/crf/crf_model.h"
#include "model/regressor/regressor.h"
#include "model/stored_record.h"
#include "scratch.h"
#include "selfnorm/error.h"
#include "small_crfs.h"

namespace selfnorm::test {
namespace {

std::string bytes_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

// The error of loading these bytes; "accepted" when there is none.
std::string error_of(const std::string& bytes) {
  const Scratch scratch;
  const std::string path = scratch / "model.safetensors";
  std::ofstream(path, std::ios::binary) << bytes;
  try {
    load_crf(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

std::string saved(const CrfModel& model) {
  const Scratch scratch;
  const std::string path = scratch / "model.safetensors";
  save_crf(model, path);
  return bytes_of(path);
}

TEST(CrfFile, SaveAndLoadAreIdentity) {
  const Scratch scratch;
  const std::string path = scratch / "model.safetensors";
  for (const CrfPlan& plan : {CrfPlan{}, CrfPlan{.bigrams = 2}, CrfPlan{.has_transitions = false},
                              CrfPlan{.labels = 2, .unigrams = 0}}) {
    CrfModel before = random_crf(plan);
    before.normalizer = {true, 1.0 / 3, -0.1, {}};
    if (plan.bigrams > 0) before.normalizer.slope.assign(plan.unigrams, 0.25f);
    before.encoder.labels[1] = "a \"label\"\n";
    before.objective_json = R"({"name":"penalty"})";
    save_crf(before, path);
    EXPECT_EQ(identity_of(path).family, "chain");
    EXPECT_NE(identity_of(path).family, "regressor");
    const CrfModel after = load_crf(path);
    EXPECT_EQ(after.theta, before.theta);
    EXPECT_EQ(after.shape.has_transitions, before.shape.has_transitions);
    EXPECT_EQ(after.shape.size(), before.shape.size());
    EXPECT_EQ(after.encoder.labels, before.encoder.labels);
    EXPECT_EQ(after.encoder.unigrams, before.encoder.unigrams);
    EXPECT_EQ(after.encoder.bigrams, before.encoder.bigrams);
    EXPECT_EQ(after.normalizer.per_position, before.normalizer.per_position);
    EXPECT_EQ(after.normalizer.per_sentence, before.normalizer.per_sentence);
    EXPECT_EQ(after.normalizer.slope, before.normalizer.slope);
    EXPECT_EQ(after.objective_json, before.objective_json);
    const std::string first = bytes_of(path);
    save_crf(after, path);
    EXPECT_EQ(bytes_of(path), first);
  }
}

TEST(CrfFile, KeepsTemplates) {
  const Scratch scratch;
  CrfModel before = random_crf({});
  before.encoder.format = SequenceFormat::columns;
  before.encoder.columns = 3;
  before.encoder.target = 2;
  before.encoder.templates = parse_templates("U00:%x[-1,0]\nU01:%x[0,1]\nB\n", "templates");
  const std::string path = scratch / "model.safetensors";
  save_crf(before, path);
  const CrfModel after = load_crf(path);
  EXPECT_EQ(after.encoder.format, SequenceFormat::columns);
  EXPECT_EQ(after.encoder.templates.text, before.encoder.templates.text);
  EXPECT_EQ(after.encoder.templates.list.size(), 3u);
  EXPECT_EQ(after.encoder.columns, 3u);
  EXPECT_EQ(after.encoder.target, 2u);
  before.encoder.columns = 1;
  EXPECT_THROW(save_crf(before, path), Error);
}

TEST(CrfFile, LeavesOutAttributesWithoutWeight) {
  const Scratch scratch;
  CrfModel model = random_crf({.unigrams = 4, .bigrams = 2});
  for (const size_t a : {0u, 2u, 3u})
    std::fill_n(model.theta.begin() + static_cast<ptrdiff_t>(a * 3), 3, 0.f);
  std::fill_n(model.theta.begin() + static_cast<ptrdiff_t>(model.shape.pair()), 9, 0.f);
  model.normalizer = {true, 0, 0, {0, 0, 0, 0.5f}};
  const std::string path = scratch / "model.safetensors";
  save_crf(model, path);
  const CrfModel after = load_crf(path);
  EXPECT_EQ(after.encoder.unigrams, (std::vector<std::string>{"u1", "u3"}));
  EXPECT_EQ(after.encoder.bigrams, (std::vector<std::string>{"b1"}));
  EXPECT_EQ(after.normalizer.slope, (std::vector<float>{0, 0.5f}));
  EXPECT_EQ(after.theta[1], model.theta[4]);
  EXPECT_EQ(after.theta[after.shape.pair()], model.theta[model.shape.pair() + 9]);
  EXPECT_EQ(after.theta[after.shape.bias()], model.theta[model.shape.bias()]);
}

TEST(CrfFile, RefusesModelsThatDoNotFit) {
  const Scratch scratch;
  const auto refused = [&](const auto& change) {
    CrfModel model = random_crf({});
    change(model);
    EXPECT_THROW(save_crf(model, scratch / "model.safetensors"), Error);
  };
  refused([](CrfModel& m) { m.theta.pop_back(); });
  refused([](CrfModel& m) { m.theta[3] = std::numeric_limits<float>::quiet_NaN(); });
  refused([](CrfModel& m) { m.encoder.labels[1] = m.encoder.labels[0]; });
  refused([](CrfModel& m) { m.encoder.labels.pop_back(); });
  refused([](CrfModel& m) { m.encoder.unigrams.push_back("more"); });
  refused([](CrfModel& m) { m.encoder.has_transitions = false; });
  refused([](CrfModel& m) { m.encoder.format = SequenceFormat::automatic; });
  refused([](CrfModel& m) { m.normalizer.per_position = 1; });
  refused([](CrfModel& m) { m.normalizer = {true, 0, 0, {1}}; });
  refused([](CrfModel& m) { m.audit_json = "[]]"; });
}

TEST(CrfFile, RefusesStringsThatAreTwiceInTheFile) {
  const std::string good = saved(random_crf({.bigrams = 2}));
  for (const auto& [from, to, message] : {std::tuple{"L0L1L2", "L0L2L2", "'L2' twice among the labels"},
                                          std::tuple{"u0u1u2", "u0u1u0", "'u0' twice among the unigram"},
                                          std::tuple{"b0b1", "b1b1", "'b1' twice among the bigram"}})
    EXPECT_NE(error_of(replaced(good, from, to)).find(message), std::string::npos)
        << error_of(replaced(good, from, to));
  const std::string indexed = saved(random_crf({.unigrams = 1200}));
  EXPECT_NE(error_of(replaced(indexed, "u1000u1001", "u1000u1000")).find("'u1000' twice"), std::string::npos);
}

// From 1,000 attributes on, an index that the runtime finds them by; older files have none.
TEST(CrfFile, AttributesHaveAnIndex) {
  const std::string few = saved(random_crf({.unigrams = 999})), many = saved(random_crf({.unigrams = 1000}));
  EXPECT_EQ(few.find("unigrams.index"), std::string::npos);
  EXPECT_NE(many.find("unigrams.index"), std::string::npos);
  EXPECT_EQ(error_of(many), "accepted");
  EXPECT_NE(error_of(replaced(many, "unigrams.index", "unigrams.indxe")), "accepted");
  EXPECT_EQ(many.find("bigrams.index"), std::string::npos);
  EXPECT_EQ(error_of(saved(random_crf({.labels = 2, .bigrams = 1000}))), "accepted");
}

TEST(CrfFile, RefusesDamagedFiles) {
  const std::string good = saved(random_crf({.bigrams = 2}));
  EXPECT_EQ(error_of(good), "accepted");
  EXPECT_NE(error_of(""), "accepted");
  for (size_t n = 1; n < good.size(); n += 97) EXPECT_NE(error_of(good.substr(0, n)), "accepted");
  for (const auto& [from, to] :
       {std::pair{"\"chain\"", "\"chian\""}, std::pair{"\"labels\":\"3\"", "\"labels\":\"4\""},
        std::pair{"\"unigrams\":\"8\"", "\"unigrams\":\"9\""},
        std::pair{"\"transitions\":\"yes\"", "\"transitions\":\"may\""},
        std::pair{"\"normalizer\":\"none\"", "\"normalizer\":\"some\""},
        std::pair{"\"weight\"", "\"wieght\""}})
    EXPECT_NE(error_of(replaced(good, from, to)), "accepted") << from;
  EXPECT_NE(identity_of("/nonexistent").family, "chain");
}

}  // namespace
}  // namespace selfnorm::test

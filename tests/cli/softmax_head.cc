// Anybody's softmax head as MODEL of score, evaluate and info.
#include <gtest/gtest.h>

#include <cmath>

#include "cli/program.h"
#include "model/head/head_file.h"
#include "model/safetensors_writer.h"

namespace selfnorm::cli {
namespace {

using runtime::Dtype;

const std::vector<float> kWeight = {1, 0, -0.5f, 2, 0.25f, -1};  // 3 classes x 2 features
const std::vector<float> kBias = {0.5f, 0, -1};
const std::vector<float> kStates = {1, 2, -1, 0.5f};
const std::vector<int64_t> kLabels = {2, 0};

void write_head(const Folder& folder, const std::string& weight = "lm_head.weight",
                const std::string& bias = "lm_head.bias") {
  write_safetensors(folder / "head.safetensors",
                    {make_tensor(weight, Dtype::F32, {3, 2}, std::span<const float>(kWeight)),
                     make_tensor(bias, Dtype::F32, {3}, std::span<const float>(kBias)),
                     make_tensor("table", Dtype::F32, {2, 2}, std::span<const float>(kStates))},
                    {});
  write_safetensors(folder / "states.safetensors",
                    {make_tensor("states", Dtype::F32, {2, 2}, std::span<const float>(kStates)),
                     make_tensor("labels", Dtype::I64, {2}, std::span<const int64_t>(kLabels))},
                    {});
  folder.write("states.csv", "a,b,label\n1,2,2\n-1,0.5,0\n");
}

double score(size_t row, size_t k) {
  return static_cast<double>(kWeight[2 * k] * kStates[2 * row] + kWeight[2 * k + 1] * kStates[2 * row + 1] +
                             kBias[k]);
}

double log_normalizer(size_t row) {
  return std::log(std::exp(score(row, 0)) + std::exp(score(row, 1)) + std::exp(score(row, 2)));
}

TEST(SoftmaxHead, ScoresAreThoseOfTheHead) {
  const Folder folder;
  write_head(folder);
  for (const char* data : {"states.safetensors", "states.csv"}) {
    const auto raw =
        folder.run({"score", "head.safetensors", data, "--json", "--raw", "--candidates", "0,1,2"});
    ASSERT_EQ(raw.code, 0) << raw.err;
    EXPECT_NE(raw.err.find("only when it was normalised"), std::string::npos) << raw.err;
    const auto exact = folder.run({"score", "head.safetensors", data, "--json", "--exact"});
    EXPECT_EQ(exact.err, "");
    EXPECT_EQ(raw.json()["kind"], "raw");
    for (size_t i = 0; i < 2; ++i) {
      for (size_t k = 0; k < 3; ++k) {
        const auto row = raw.json()["rows"][3 * i + k];
        EXPECT_EQ(row["label"], std::to_string(k));
        EXPECT_NEAR(row["log_prob"].get<double>(), score(i, k), 1e-6);
      }
      const auto row = exact.json()["rows"][i];
      EXPECT_EQ(row["label"], std::to_string(kLabels[i]));
      EXPECT_NEAR(row["log_prob"].get<double>(), score(i, size_t(kLabels[i])) - log_normalizer(i), 1e-6);
    }
  }
}

TEST(SoftmaxHead, IsEvaluated) {
  const Folder folder;
  write_head(folder);
  const Outcome outcome =
      folder.run({"evaluate", "head.safetensors", "states.safetensors", "--json", "--timing"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const double nll = 0.5 * (log_normalizer(0) - score(0, 2) + log_normalizer(1) - score(1, 0));
  EXPECT_NEAR(outcome.json()["nll_exact"].get<double>(), nll, 1e-6);
  EXPECT_EQ(outcome.json()["classes"], 3);
}

TEST(SoftmaxHead, InfoSaysWhatWasFound) {
  const Folder folder;
  write_head(folder);
  const auto info = folder.run({"info", "head.safetensors", "--json"}).json();
  EXPECT_EQ(info["classes"], 3);
  EXPECT_EQ(info["features"], 2);
  EXPECT_EQ(info["weights"], "float32");
  EXPECT_EQ(info["head"]["weight"], "lm_head.weight");
  EXPECT_EQ(info["head"]["bias"], "lm_head.bias");
  const Outcome text = folder.run({"info", "head.safetensors"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("head.weight"), std::string::npos) << text.out;
}

TEST(SoftmaxHead, TensorsByName) {
  const Folder folder;
  write_head(folder, "proj", "shift");
  const std::vector<std::string> names = {"--weight-name", "proj", "--bias-name", "shift"};
  const auto with_names = [&names](std::vector<std::string> words) {
    words.insert(words.end(), names.begin(), names.end());
    return words;
  };
  EXPECT_EQ(folder.run(with_names({"info", "head.safetensors", "--json"})).json()["head"]["weight"], "proj");
  EXPECT_EQ(folder.run(with_names({"evaluate", "head.safetensors", "states.csv"})).code, 0);
  const auto json =
      folder.run(with_names({"score", "head.safetensors", "states.csv", "--json", "--raw"})).json();
  EXPECT_NEAR(json["rows"][0]["log_prob"].get<double>(), score(0, 2), 1e-6);
  expect_user_error(folder.run({"info", "head.safetensors"}), "--weight-name");
  expect_user_error(folder.run({"score", "head.safetensors", "states.csv", "--weight-name", "none"}),
                    "'none'");
  folder.generate();
  expect_user_error(folder.run({"info", "data.svm.truth.safetensors", "--weight-name", "weight"}),
                    "this is a selfnorm model");
}

TEST(SoftmaxHead, AmortisedNormalizerOfAHead) {
  const Folder folder;
  write_head(folder);
  Head head = load_head(folder / "head.safetensors", {});
  head.model.normalizer = {
      .intercept = 0.5, .slope = {1, -1}, .hidden_weight = {}, .hidden_bias = {}, .output = {}};
  save_head(head, folder / "amortised.safetensors");
  const Outcome outcome =
      folder.run({"score", "amortised.safetensors", "states.csv", "--json", "--amortised"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.json()["kind"], "amortised");
  EXPECT_NEAR(outcome.json()["rows"][0]["log_prob"].get<double>(), score(0, 2) - (0.5 + 1 - 2), 1e-6);
  const auto info = folder.run({"info", "amortised.safetensors", "--json"}).json();
  EXPECT_EQ(info["normalizer"]["kind"], "linear");
}

TEST(SoftmaxHead, DataThatDoesNotFitIsAnError) {
  const Folder folder;
  write_head(folder);
  folder.write("wide.csv", "a,b,c,label\n1,2,3,0\n");
  folder.write("unknown.csv", "a,b,label\n1,2,7\n");
  expect_user_error(folder.run({"score", "head.safetensors", "wide.csv"}), "wide.csv");
  expect_user_error(folder.run({"score", "head.safetensors", "unknown.csv"}), "unknown.csv:2");
  expect_user_error(folder.run({"score", "absent.safetensors", "states.csv"}), "absent.safetensors");
}

}  // namespace
}  // namespace selfnorm::cli

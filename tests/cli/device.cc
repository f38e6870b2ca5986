// --device, through the emulated module (tests/gpu/emulated).
#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/head.h"
#include "cli/program.h"

namespace selfnorm::cli {
namespace {

struct Device : testing::Test {
  Device() { setenv("SELFNORM_CUDA_MODULE", SELFNORM_EMULATED_CUDA, 1); }
  ~Device() override { unsetenv("SELFNORM_CUDA_MODULE"); }

  // The same numbers from the CPU and from the device, but for rounding and for what names it.
  static void expect_same(const Folder& folder, std::vector<std::string> words,
                          const std::vector<std::string>& keys) {
    words.push_back("--json");
    words.push_back("--device");
    words.push_back("cpu");
    const Outcome cpu = folder.run(words);
    words.back() = "cuda:0";
    const Outcome gpu = folder.run(words);
    ASSERT_EQ(cpu.code, 0) << cpu.err;
    ASSERT_EQ(gpu.code, 0) << gpu.err;
    EXPECT_EQ(cpu.json()["device"], "cpu");
    EXPECT_EQ(gpu.json()["device"], "emulated");
    for (const std::string& key : keys) {
      const nlohmann::json::json_pointer place(key);
      EXPECT_NEAR(cpu.json()[place].get<double>(), gpu.json()[place].get<double>(), 1e-4) << key;
    }
  }
};

TEST_F(Device, AuditsNormalisesAndEvaluatesHeadsAsTheCpuDoes) {
  for (const auto dtype : {runtime::Dtype::F32, runtime::Dtype::F16, runtime::Dtype::BF16}) {
    const Folder folder;
    RandomHead().write(folder / "head.safetensors", dtype);
    write_states(folder / "h.safetensors", 1000, true);
    expect_same(folder, {"audit", "head.safetensors", "h.safetensors"},
                {"/log_z/mean", "/log_z/rms", "/nll_exact", "/nll_raw", "/v_star", "/kl_uniform"});
    expect_same(folder, {"evaluate", "head.safetensors", "h.safetensors"},
                {"/log_z/mean", "/nll_exact", "/accuracy", "/top5", "/kl_uniform"});
    expect_same(folder,
                {"normalize", "head.safetensors", "--states", "h.safetensors", "-o", "out.safetensors"},
                {"/log_z/rms", "/v_star", "/variance_before"});
  }
}

TEST_F(Device, ScoresHeadsAsTheCpuDoes) {
  const Folder folder;
  RandomHead().write(folder / "head.safetensors");
  write_states(folder / "h.safetensors", 60, true);
  const auto scored = [&](std::vector<std::string> more, const std::string& device) {
    std::vector<std::string> words = {"score",  "head.safetensors", "h.safetensors", "--exact",
                                      "--json", "--device",         device};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome out = folder.run(words);
    EXPECT_EQ(out.code, 0) << out.err;
    return out.out;
  };
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--candidates", "0,2"}}) {
    const nlohmann::json here = nlohmann::json::parse(scored(more, "cpu")),
                         there = nlohmann::json::parse(scored(more, "cuda"));
    const nlohmann::json a = here.flatten(), b = there.flatten();
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [key, value] : a.items()) {
      if (value.is_number())
        EXPECT_NEAR(value.get<double>(), b[key].get<double>(), 1e-4) << key;
      else
        EXPECT_EQ(value, b[key]) << key;
    }
  }
  expect_user_error(
      folder.run({"score", "head.safetensors", "h.safetensors", "--exact", "--top", "2", "--device", "cuda"}),
      "a GPU gives exact scores");
}

TEST_F(Device, TrainsDensitiesAndNetworks) {
  const Folder folder;
  ASSERT_EQ(folder.run({"data", "generate", "--toy", "ring", "--rows", "300", "--out", "ring.csv"}).code, 0);
  const std::vector<std::string> density = {"train",      "density",     "ring.csv", "--energy", "mlp:8",
                                            "--proposal", "gaussian",    "--steps",  "30",       "--out",
                                            "ring",       "--overwrite", "--quiet"};
  folder.write("text.txt", "a b c a\nb a c b\nc c a b\na b a b\nb c a a\nc b a c\n");
  const std::vector<std::string> language = {"train",    "lm",          "text.txt",   "--objective", "exact",
                                             "--epochs", "2",           "--hold-out", "0",           "--out",
                                             "lm",       "--overwrite", "--quiet"};
  std::vector<std::string> sampled = language;
  sampled[4] = "nce", sampled[10] = "sampled";
  ASSERT_EQ(folder
                .run({"data", "generate", "--rows", "200", "--features", "30", "--classes", "5", "--out",
                      "rows.svm"})
                .code,
            0);
  const std::vector<std::string> classes = {"train", "classifier", "rows.svm",    "--objective", "exact",
                                            "--out", "classes",    "--overwrite", "--quiet"};
  const std::vector<std::string> regressor = {"train",   "regressor",     "ring.csv", "--target",
                                              "x2",      "--out",         "curve",    "--overwrite",
                                              "--quiet", "--features",    "6",        "--joint",
                                              "6",       "--epochs",      "3",        "--batch",
                                              "64",      "--ensemble",    "1",        "--normalizer-hidden",
                                              "4",       "--input-noise", "0",        "--components",
                                              "2",       "--no-report"};
  for (const auto& [words, run] :
       {std::pair{density, "ring"}, std::pair{language, "lm"}, std::pair{sampled, "sampled"},
        std::pair{classes, "classes"}, std::pair{regressor, "curve"}}) {
    for (const char* device : {"cpu", "cuda:0"}) {
      std::vector<std::string> given = words;
      given.insert(given.end(), {"--device", device});
      const Outcome trained = folder.run(given);
      ASSERT_EQ(trained.code, 0) << trained.err;
      const nlohmann::json record = folder.run({"info", run, "--json"}).json();
      EXPECT_EQ(record["training"].contains("device"), std::string(device) != "cpu") << record.dump(1);
    }
  }
  std::vector<std::string> other = density;
  other.insert(other.end(), {"--objective", "is", "--device", "cuda"});
  expect_user_error(folder.run(other),
                    "a GPU cannot train this density: found the objective is, expected snl or nce");
  other = regressor;
  other.insert(other.end(), {"--lower", "-9", "--device", "cuda"});
  expect_user_error(folder.run(other), "a GPU cannot train this regressor: found a target with bounds");
  other = classes;
  other[4] = "nce";
  other.insert(other.end(), {"--device", "cuda"});
  expect_user_error(
      folder.run(other),
      "a GPU cannot train this classifier: found the objective nce on sparse rows without an encoder");
}

TEST_F(Device, OtherWordsAndMissingGpusAreUserErrors) {
  const Folder folder;
  RandomHead().write(folder / "head.safetensors");
  write_states(folder / "h.safetensors", 100, true);
  expect_user_error(folder.run({"audit", "head.safetensors", "h.safetensors", "--device", "gpu"}),
                    "expected auto, cpu, cuda or cuda:N");
  expect_user_error(folder.run({"audit", "head.safetensors", "h.safetensors", "--device", "cuda:3"}),
                    "--device cuda:3: found 1 GPUs");
  setenv("SELFNORM_CUDA_MODULE", "/nowhere/libselfnorm_cuda.so", 1);
  expect_user_error(folder.run({"audit", "head.safetensors", "h.safetensors", "--device", "cuda"}),
                    "make gpu");
  EXPECT_EQ(folder.run({"audit", "head.safetensors", "h.safetensors", "--json"}).json()["device"], "cpu");
}

}  // namespace
}  // namespace selfnorm::cli

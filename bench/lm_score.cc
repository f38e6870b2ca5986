// What a language model of order 5 costs to ask: K = 33,000 words, embeddings of 64, 512 hidden units, words
// in the order of a text with Zipf's frequencies, one thread. Word probabilities per second with the
// pre-computed hidden layer (target 1.5 million), without it, and by the exact softmax. Then 1,000,000 x 128
// stored as int8: bytes (target 135 MB), time to open and to the first score, scores per second, the largest
// |int8 - float32| against the stated bound. Reproduce: build/bench/bench/bench_lm_score
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "measure.h"
#include "model/model_file.h"
#include "selfnorm.h"
#include "selfnorm/runtime/kernels.h"

namespace {

using bench::random_values;
using bench::seconds;
using selfnorm::ModelFile;
using selfnorm::WeightKind;

constexpr uint32_t kWords = 33'000, kWidth = 64, kHidden = 512, kPositions = 4;
constexpr size_t kText = 1'000'000;

void require(selfnorm_status status) {
  if (status == SELFNORM_OK) return;
  fmt::print(stderr, "{}\n", selfnorm_error_message());
  std::exit(1);
}

const char* verdict(bool met) { return met ? "MET" : "MISSED"; }

ModelFile language_model(WeightKind kind) {
  ModelFile out;
  out.input = selfnorm::ModelInput::Context;
  out.weights = kind;
  out.classes = kWords;
  out.features = kHidden;
  out.encoder = {.kind = selfnorm::EncoderKind::Context,
                 .inputs = kWords + 1,
                 .width = kWidth,
                 .positions = kPositions,
                 .embedding = random_values(size_t{kWords + 1} * kWidth, 1, 1),
                 .hidden_weight = random_values(size_t{kHidden} * kPositions * kWidth, 0.1f, 2),
                 .hidden_bias = random_values(kHidden, 0.1f, 3)};
  out.weight = random_values(size_t{kWords} * kHidden, 0.1f, 4);
  out.bias = random_values(kWords, 1, 5);
  for (uint32_t k = 0; k < kWords; ++k) out.labels.push_back("word" + std::to_string(k));
  return out;
}

// Words drawn with p(rank r) ~ 1 / (r + 2.7), each with the four before it as its context.
struct Text {
  std::vector<uint32_t> words, contexts;

  Text() {
    std::vector<double> cumulative(kWords);
    double total = 0;
    for (uint32_t r = 0; r < kWords; ++r) cumulative[r] = total += 1 / (r + 2.7);
    selfnorm::RandomStream random(7, 0);
    for (size_t i = 0; i < kText; ++i) {
      const auto place = std::lower_bound(cumulative.begin(), cumulative.end(), random.uniform() * total);
      words.push_back(static_cast<uint32_t>(std::min<ptrdiff_t>(place - cumulative.begin(), kWords - 1)));
    }
    for (size_t i = 0; i < kText; ++i)
      for (size_t j = kPositions; j > 0; --j) contexts.push_back(i >= j ? words[i - j] : kWords);
  }
};

// Seconds for words 0 .. n-1 of the text: the sum over slices of the best of five passes over all of
// them, so that what else the machine does counts little and no slice finds its rows in the cache.
template <class Score>
double best_seconds(size_t n, const Score& score) {
  constexpr int kRounds = 5;
  const size_t slice = std::max<size_t>(1, n / 500);
  std::vector<double> best((n + slice - 1) / slice, 1e300);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < best.size(); ++i) {
      const size_t begin = i * slice;
      best[i] = std::min(best[i], seconds([&] { score(begin, std::min(n, begin + slice)); }));
    }
  }
  return std::accumulate(best.begin(), best.end(), 0.0);
}

// Words per second.
double rate(const selfnorm_model* model, const Text& text, size_t n, int kind, std::vector<double>& out) {
  return static_cast<double>(n) / best_seconds(n, [&](size_t begin, size_t end) {
           require(selfnorm_score_contexts(model, text.contexts.data() + begin * kPositions,
                                           text.words.data() + begin, end - begin, kind, out.data() + begin));
         });
}

// The same words one by one, as a decoder asks.
double state_rate(const selfnorm_model* model, const Text& text) {
  selfnorm_state state;
  double log_prob = 0;
  require(selfnorm_begin_sentence(model, &state));
  return static_cast<double>(kText) / best_seconds(kText, [&](size_t begin, size_t end) {
           for (size_t i = begin; i < end; ++i)
             require(selfnorm_score_word(model, &state, text.words[i], SELFNORM_RAW, &log_prob, &state));
         });
}

void language(const std::string& path, const Text& text, WeightKind kind) {
  selfnorm::save_model(language_model(kind), path);
  selfnorm_model* model = nullptr;
  require(selfnorm_open(path.c_str(), &model));
  std::vector<double> out(kText), direct_out(kText), exact_out(kText);
  constexpr size_t kDirect = 50'000, kExact = 200;
  const double exact = rate(model, text, kExact, SELFNORM_EXACT, exact_out);
  const double direct = rate(model, text, kDirect, SELFNORM_RAW, direct_out);
  const double build = seconds([&] { require(selfnorm_precompute(model, 1)); });
  const double table = rate(model, text, kText, SELFNORM_RAW, out);
  const double state = state_rate(model, text);
  double difference = 0;
  for (size_t i = 0; i < kDirect; ++i) difference = std::max(difference, std::fabs(out[i] - direct_out[i]));
  fmt::print(
      "{:9} pre-computed {:9.0f} words/s (target 1,500,000: {}), one by one {:9.0f}; without {:7.0f} "
      "({:.1f} x slower); exact {:5.0f} ({:.0f} x slower)\n"
      "          table {:.0f} MB in {:.1f} s; largest |pre-computed - direct| {:.1e}\n",
      selfnorm::runtime::name(kind), table, verdict(table >= 1.5e6), state, direct, table / direct, exact,
      table / exact, static_cast<double>(selfnorm_precompute_bytes(model)) / 1e6, build, difference);
  selfnorm_close(model);
}

void million(const std::string& path) {
  constexpr uint32_t kClasses = 1'000'000, kFeatures = 128;
  ModelFile file;
  file.input = selfnorm::ModelInput::Dense;
  file.weights = WeightKind::Int8;
  file.classes = kClasses;
  file.features = kFeatures;
  file.weight = random_values(size_t{kClasses} * kFeatures, 0.5f, 8);
  file.bias = random_values(kClasses, 1, 9);
  for (uint32_t k = 0; k < kClasses; ++k) file.labels.push_back(std::to_string(k));
  selfnorm::save_model(file, path);
  const double bytes = static_cast<double>(std::filesystem::file_size(path));

  const std::vector<float> x = random_values(kFeatures, 1, 10);
  std::vector<uint32_t> classes(200'000);
  selfnorm::RandomStream random(11, 0);
  for (uint32_t& k : classes) k = static_cast<uint32_t>(random.uniform() * kClasses);
  std::vector<double> out(classes.size());
  selfnorm_model* model = nullptr;
  const double open = seconds([&] { require(selfnorm_open(path.c_str(), &model)); });
  const auto score = [&](size_t n) {
    require(selfnorm_score_dense(model, x.data(), kFeatures, classes.data(), n, SELFNORM_RAW, out.data()));
  };
  const double first = seconds([&] { score(1); });
  score(classes.size());
  const double all = seconds([&] { score(classes.size()); });
  double worst = 0, share = 0;
  for (size_t i = 0; i < classes.size(); ++i) {
    double s = file.bias[classes[i]], bound = 0;
    for (uint32_t j = 0; j < kFeatures; ++j)
      s += static_cast<double>(file.weight[size_t{classes[i]} * kFeatures + j]) * x[j];
    require(selfnorm_score_error_bound_dense(model, x.data(), kFeatures, classes[i], &bound));
    worst = std::max(worst, std::fabs(out[i] - s));
    share = std::max(share, std::fabs(out[i] - s) / bound);
  }
  fmt::print(
      "1,000,000 x 128 int8, labels 0, 1, ...: {:.2f} MB (target 135: {}), open {:.2f} ms, first score "
      "{:.3f} ms, "
      "{:.1f} million scores/s;\n"
      "          largest |int8 - float32| {:.4f}, {:.2f} of its stated bound ({})\n",
      bytes / 1e6, verdict(bytes <= 135e6), open * 1e3, first * 1e3,
      static_cast<double>(classes.size()) / all / 1e6, worst, share, verdict(share <= 1));
  selfnorm_close(model);
}

}  // namespace

int main() {
  std::string pattern = (std::filesystem::temp_directory_path() / "selfnorm-bench-XXXXXX").string();
  const std::string directory = ::mkdtemp(pattern.data());
  const std::string path = directory + "/model.safetensors";
  fmt::print("kernels: {}; order 5, 33,000 words, 64 x 4 -> 512, {} words of text, one thread\n",
             selfnorm::runtime::best_kernels().name, kText);
  const Text text;
  for (const WeightKind kind : {WeightKind::Float32, WeightKind::Bfloat16, WeightKind::Int8})
    language(path, text, kind);
  million(path);
  std::filesystem::remove_all(directory);
  return 0;
}

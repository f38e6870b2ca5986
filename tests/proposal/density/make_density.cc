#include "proposal/density/make_density.h"

#include <map>

#include "math/parallel.h"
#include "proposal/density/density_checks.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

std::vector<std::string> all_words() {
  return {"uniform",   "gaussian", "gaussian:diagonal", "student-t",    "student-t:2.5", "mixture",
          "mixture:3", "kde",      "kde:0.3",           "bernoulli",    "categorical",   "counts",
          "products",  "trees:2",  "autoregressive:8",  "directions:3", "kernels",       "neighbours:5"};
}

bool is_of_angles(const std::string& word) {
  return word == "directions:3" || word == "kernels" || word == "neighbours:5";
}

// 300 x 2: real, or for the discrete ones 0 and 1.
std::vector<float> rows_for(const std::string& word) {
  std::vector<float> rows = random_vector<float>(600, 8);
  if (word == "bernoulli" || word == "categorical" || word == "counts" || word == "products" ||
      word == "trees:2")
    for (float& v : rows) v = v > 0.5f ? 1.0f : 0.0f;
  if (is_of_angles(word))
    for (float& v : rows) v = std::clamp(v, -3.0f, 3.0f);
  return rows;
}

FitOptions options_for(const std::string& word) {
  FitOptions options;
  if (is_of_angles(word)) options.space = Support::angles({true, true});
  return options;
}

TEST(MakeDensity, EveryNameHasAWordHere) {
  std::map<std::string, int> words;
  for (const std::string& word : all_words()) ++words[word.substr(0, word.find(':'))];
  for (const std::string& name : density_names()) EXPECT_EQ(words.count(name), 1u) << name;
  EXPECT_EQ(words.size(), density_names().size());
}

TEST(MakeDensity, EveryWordFitsRestoresAndDrawsTheSameOnAnyNumberOfThreads) {
  for (const std::string& word : all_words()) {
    SCOPED_TRACE(word);
    check_density_word(word);
    const std::vector<float> rows = rows_for(word);
    const auto q = fit_density(word, {rows.data(), 300, 2}, options_for(word));
    EXPECT_EQ(q->dimension(), 2u);
    expect_round_trip(*q);
    for (const double log_q : log_probs(*q, rows)) EXPECT_TRUE(std::isfinite(log_q));
    std::vector<std::vector<float>> draws(3, std::vector<float>(2 * 700));
    std::vector<std::vector<double>> log_q(3, std::vector<double>(700));
    for (int threads = 1; threads <= 3; ++threads) {
      const ThreadLimit limit(threads);
      sample_density(*q, 5, draws[threads - 1], log_q[threads - 1]);
    }
    EXPECT_EQ(draws[0], draws[1]);
    EXPECT_EQ(draws[0], draws[2]);
    EXPECT_EQ(log_q[0], log_q[2]);
    EXPECT_EQ(log_q[0], log_probs(*q, draws[0]));
    for (size_t i = 0; i < 700; ++i)
      EXPECT_TRUE(contains(q->support(), Points{draws[0].data(), 700, 2}.row(i)));
    // Blocks differ from each other.
    EXPECT_FALSE(std::equal(draws[0].begin(), draws[0].begin() + 100, draws[0].begin() + 512));
  }
}

TEST(MakeDensity, OneRowIsEnough) {
  for (const std::string& word : all_words()) {
    SCOPED_TRACE(word);
    const std::vector<float> row{1, 0};
    const auto q = fit_density(word, {row.data(), 1, 2}, options_for(word));
    EXPECT_TRUE(std::isfinite(log_prob_at(*q, row)));
  }
}

TEST(MakeDensity, BadWordsAreUserErrors) {
  for (const char* word : {"",           "gauss",       "gaussian:",     "gaussian:foo", "mixture:0",
                           "mixture:-1", "mixture:2.5", "mixture:x",     "mixture:1e9",  "mixture:nan",
                           "kde:0",      "kde:-1",      "kde:",          "student-t:0",  "student-t:inf",
                           "uniform:3",  "bernoulli:2", "categorical:x", "counts:2",     "mixture:3:4",
                           " kde"}) {
    EXPECT_THROW(check_density_word(word), Error) << word;
    const std::vector<float> rows{1, 2};
    EXPECT_THROW(fit_density(word, {rows.data(), 2, 1}), Error) << word;
  }
}

TEST(MakeDensity, TreesOfAMixedTableAreAUserError) {
  FitOptions options;
  options.space = Support::mixed({0, 2}, {false, false});
  const std::vector<float> rows{0.5f, 1, -1, 0, 2, 1};
  EXPECT_THROW(fit_density("trees", {rows.data(), 3, 2}, options), Error);
  EXPECT_NO_THROW(fit_density("products", {rows.data(), 3, 2}, options));
}

TEST(MakeDensity, BadDataAreUserErrors) {
  const float not_finite = std::nanf("");
  for (const std::string& word : all_words()) {
    std::vector<float> rows = rows_for(word);
    EXPECT_THROW(fit_density(word, {rows.data(), 0, 2}, options_for(word)), Error) << word;
    rows[301] = not_finite;
    EXPECT_THROW(fit_density(word, {rows.data(), 300, 2}, options_for(word)), Error) << word;
    rows[301] = INFINITY;
    EXPECT_THROW(fit_density(word, {rows.data(), 300, 2}, options_for(word)), Error) << word;
  }
}

TEST(MakeDensity, DamagedRecordsAreUserErrors) {
  EXPECT_THROW(make_density({"nothing", {}}, 2), Error);
  for (const std::string& word : all_words()) {
    SCOPED_TRACE(word);
    const std::vector<float> rows = rows_for(word);
    const DensityRecord good = fit_density(word, {rows.data(), 300, 2}, options_for(word))->record();
    EXPECT_THROW(make_density(good, 0), Error);
    EXPECT_THROW(make_density(good, 3), Error);
    for (const auto& [name, values] : good.values) {
      SCOPED_TRACE(name);
      DensityRecord bad = good;
      bad.values.erase(name);
      EXPECT_THROW(make_density(bad, 2), Error);
      bad = good;
      bad.values[name].push_back(1);
      EXPECT_THROW(make_density(bad, 2), Error);
      bad = good;
      bad.values[name][0] = std::nan("");
      EXPECT_THROW(make_density(bad, 2), Error);
      bad.values[name].clear();
      EXPECT_THROW(make_density(bad, 2), Error);
    }
    if (good.values.count("root") > 0) {
      DensityRecord bad = good;
      bad.values["root"][0] = -1;
      EXPECT_THROW(make_density(bad, 2), Error);
    }
  }
}

}  // namespace
}  // namespace selfnorm

// No call after open allocates: operator new is counted, and so are the bytes malloc has handed out.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "runtime/random_crf.h"
#include "runtime/random_ladder.h"
#include "runtime/random_network.h"
#include "scratch.h"
#include "selfnorm_table.h"
#include "small_regressors.h"

static std::atomic<uint64_t> allocations = 0;

__attribute__((noinline)) void* operator new(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
__attribute__((noinline)) void* operator new(size_t size, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size == 0 ? 1 : size);
}
__attribute__((noinline)) void operator delete(void* p) noexcept { std::free(p); }
__attribute__((noinline)) void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace selfnorm::test {
namespace {

TEST(Runtime, NoCallAllocates) {
  std::mt19937 random(5);
  for (const WeightKind kind : {WeightKind::Float32, WeightKind::Bfloat16, WeightKind::Int8}) {
    ModelFile model = random_model(random, 600, 20, kind);
    model.normalizer = random_normalizer(random, 20, 300);
    model.ladder = random_ladder(random, model, 40);
    const OpenModel open(model);
    const auto x = normals(random, 20);
    const uint32_t index[] = {1, 19}, classes[] = {0, 599, 3};
    uint32_t best[50];
    double out[50];
    size_t length = 0;
    int failures = 0;
    const uint64_t news = allocations;
    const size_t bytes = mallinfo2().uordblks;
    for (const int scored : {int{SELFNORM_RAW}, int{SELFNORM_EXACT}, int{SELFNORM_AMORTISED},
                             int{SELFNORM_AUTO}, SELFNORM_RUNG(2), SELFNORM_RUNG(3), SELFNORM_RUNG(5)}) {
      failures += selfnorm_score_dense(open, x.data(), 20, classes, 3, scored, out);
      failures += selfnorm_score_sparse(open, index, x.data(), 2, classes, 3, scored, out);
      failures += selfnorm_top_dense(open, x.data(), 20, 50, scored, best, out);
      failures += selfnorm_top_sparse(open, index, x.data(), 2, 50, scored, best, out);
    }
    failures += selfnorm_log_normalizer_dense(open, x.data(), 20, out);
    failures += selfnorm_log_normalizer_sparse(open, index, x.data(), 2, out);
    failures += selfnorm_amortised_normalizer_dense(open, x.data(), 20, out);
    failures += selfnorm_amortised_normalizer_sparse(open, index, x.data(), 2, out);
    failures += selfnorm_score_error_bound_dense(open, x.data(), 20, 7, out);
    failures += selfnorm_class_of_label(open, "class 599", 9, best);
    failures += selfnorm_label(open, 599, &length) == nullptr;
    failures += selfnorm_metadata(open, "audit", &length) == nullptr;
    failures +=
        selfnorm_score_dense(open, x.data(), 19, classes, 3, SELFNORM_RAW, out) != SELFNORM_ERROR_DIMENSION;
    const uint64_t news_after = allocations;
    const size_t bytes_after = mallinfo2().uordblks;
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(news_after, news);
    EXPECT_EQ(bytes_after, bytes);
  }
}

TEST(Runtime, NoCallOnANetworkAllocates) {
  std::mt19937 random(6);
  for (const Family family : {Family::Multiclass, Family::Hierarchical}) {
    OpenModel bag(random_bag_model(random, family, 30, 1500)),
        language(random_context_model(random, family, 30, 70));
    const uint32_t index[] = {0}, words[] = {0, 29, 3};
    const float value[] = {1};
    std::vector<float> h(1500);
    uint32_t best[3];
    double out[3];
    selfnorm_state state;
    for (const bool precomputed : {false, true}) {
      int failures = precomputed ? selfnorm_precompute(language.get(), 2) : SELFNORM_OK;
      const uint64_t news = allocations;
      const size_t bytes = mallinfo2().uordblks;
      failures += selfnorm_encode_sparse(bag, index, value, 1, h.data());
      failures += selfnorm_score_sparse(bag, index, value, 1, words, 3, SELFNORM_EXACT, out);
      failures += selfnorm_top_sparse(bag, index, value, 1, 3, SELFNORM_RAW, best, out);
      failures += selfnorm_log_normalizer_sparse(bag, index, value, 1, out);
      failures += selfnorm_score_error_bound_sparse(bag, index, value, 1, 7, out);
      failures += selfnorm_begin_sentence(language, &state);
      failures += selfnorm_word_id(language, "none", 4, best);
      failures += selfnorm_end_of_sentence(language, best);
      for (const selfnorm_kind kind : {SELFNORM_RAW, SELFNORM_EXACT}) {
        failures += selfnorm_score_word(language, &state, 4, kind, out, &state);
        failures += selfnorm_score_words(language, &state, words, 3, kind, out);
        failures += selfnorm_score_contexts(language, state.words, words, 1, kind, out);
      }
      failures += selfnorm_encode_context(language, state.words, h.data());
      const uint64_t news_after = allocations;
      const size_t bytes_after = mallinfo2().uordblks;
      EXPECT_EQ(failures, 0);
      EXPECT_EQ(news_after, news);
      EXPECT_EQ(bytes_after, bytes);
    }
  }
}

TEST(Runtime, NoCallOnACrfAllocates) {
  for (const float size : {1.f, 1e6f}) {  // scaled, and in log space
    CrfModel model = random_crf({.labels = 9, .unigrams = 1200, .bigrams = 2});
    for (float& weight : model.theta) weight *= size;
    model.normalizer = {true, 1, 0, {}};
    const OpenModel open(saved_bytes(model));
    const size_t begin[] = {0, 1, 2, 3};
    const uint32_t number[] = {0, 1, 1};
    const selfnorm_sentence x = {3, {begin, number, nullptr}, {begin, number, nullptr}};
    CrfMemory memory(open, 3);
    uint32_t labels[3];
    double out[27];
    int failures = 0;
    const uint64_t news = allocations;
    const size_t bytes = mallinfo2().uordblks;
    failures += selfnorm_attribute_id(open, "u1199", 5, labels);
    failures += selfnorm_pair_attribute_id(open, "b2", 2, labels) != SELFNORM_ERROR_ATTRIBUTE;
    for (const selfnorm_kind kind : {SELFNORM_RAW, SELFNORM_EXACT, SELFNORM_AMORTISED}) {
      failures += selfnorm_tag(open, &x, memory.data(), memory.bytes(), kind, labels, out);
      failures += selfnorm_score_labelling(open, &x, labels, kind, memory.data(), memory.bytes(), out);
    }
    failures += selfnorm_chain_log_normalizer(open, &x, memory.data(), memory.bytes(), out);
    failures += selfnorm_chain_amortised_normalizer(open, &x, out);
    failures += selfnorm_marginals(open, &x, memory.data(), memory.bytes(), out);
    const uint64_t news_after = allocations;
    const size_t bytes_after = mallinfo2().uordblks;
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(news_after, news);
    EXPECT_EQ(bytes_after, bytes);
  }
}

TEST(Runtime, NoCallOnTablesAllocates) {
  const Scratch folder;
  save_regressor(random_regressor({.members = 2}), folder / "model.safetensors");
  selfnorm_table* model = nullptr;
  ASSERT_EQ(selfnorm_table_open((folder / "model.safetensors").c_str(), &model), SELFNORM_OK);
  std::vector<char> memory(selfnorm_table_workspace(model));
  const double x[] = {0.5, -1, 2}, levels[] = {0.1, 0.9};
  double out[2];
  selfnorm_prediction found;
  int failures = 0;
  const uint64_t news = allocations;
  const size_t bytes = mallinfo2().uordblks;
  for (const selfnorm_kind kind : {SELFNORM_RAW, SELFNORM_EXACT})
    failures += selfnorm_table_log_density_of(model, x, 3, 0.3, kind, memory.data(), memory.size(), out);
  failures += selfnorm_table_predict(model, x, 3, levels, 2, memory.data(), memory.size(), &found, out);
  failures += selfnorm_table_level(model, 2, "mid", 3) < 1;
  const uint64_t news_after = allocations;
  const size_t bytes_after = mallinfo2().uordblks;
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(news_after, news);
  EXPECT_EQ(bytes_after, bytes);
  selfnorm_table_close(model);
}

}  // namespace
}  // namespace selfnorm::test

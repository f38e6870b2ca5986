// The rungs of a ladder by the C interface, against their definitions in double.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "runtime/random_ladder.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/ladder_layout.h"
#include "selfnorm/runtime/nearest_sum.h"

namespace selfnorm::test {
namespace {

ModelFile with_ladder(std::mt19937& random, WeightKind kind) {
  ModelFile model = random_model(random, 20 + up_to(random, 300), up_to(random, 40), kind);
  round_as_stored(model);
  model.ladder = random_ladder(random, model, up_to(random, 20));
  return model;
}

// By the class of least score, whose log-probability no estimate of log Z puts above 0.
double log_normalizer_of(const selfnorm_model* open, const std::vector<float>& x, int kind) {
  uint32_t k = 0;
  double raw = INFINITY, served = 0;
  for (uint32_t i = 0; i < selfnorm_classes(open); ++i) {
    double s = 0;
    EXPECT_EQ(selfnorm_score_dense(open, x.data(), x.size(), &i, 1, SELFNORM_RAW, &s), SELFNORM_OK);
    if (s < raw) raw = s, k = i;
  }
  EXPECT_EQ(selfnorm_score_dense(open, x.data(), x.size(), &k, 1, kind, &served), SELFNORM_OK);
  return raw - served + selfnorm_log_normalizer_constant(open);
}

double square_of(const ModelFile& model, const std::vector<float>& x) {
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v) * v;
  return sum / model.ladder.clusters.norm[0];
}

// Rows are rounded to bfloat16: 2^-9 of each product at most, and they are random.
double tolerance(const ModelFile& model) { return model.ladder.clusters.rows.empty() ? 2e-4 : 0.03; }

std::vector<double> masses_of(const ModelFile& model, const std::vector<float>& x) {
  const ClassClusters& c = model.ladder.clusters;
  std::vector<double> m(c.mass.begin(), c.mass.end());
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < m.size(); ++j) m[j] += static_cast<double>(x[i]) * c.centroid[i * m.size() + j];
  for (size_t j = 0; j < m.size(); ++j) m[j] += square_of(model, x) * c.centroid[x.size() * m.size() + j];
  return m;
}

// Where nothing may be left in doubt every cluster that has scatter is summed: with scatter everywhere that
// is A(x).
RC_GTEST_PROP(Nearest, WithoutDoubtItIsExact, (uint32_t seed)) {
  std::mt19937 random(seed);
  const ModelFile model = with_ladder(random, kKinds[random() % 3]);
  const OpenModel open(model);
  const auto x = normals(random, model.features);
  RC_ASSERT(std::fabs(log_normalizer_of(open, x, SELFNORM_RUNG(3)) - reference_log_normalizer(model, x)) <
            tolerance(model));
}

RC_GTEST_PROP(Nearest, WithoutSumsItIsTheMassesAndTheTail, (uint32_t seed)) {
  std::mt19937 random(seed);
  const ModelFile model = with_ladder(random, kKinds[random() % 3]);
  const OpenModel open(model);
  const auto x = normals(random, model.features);
  const LadderRung& rung = model.ladder.rungs[5];
  double total = 0, doubt = 0;
  const double q = square_of(model, x);
  const std::vector<double> m = masses_of(model, x);
  for (size_t j = 0; j < m.size(); ++j) {
    total += std::exp(m[j]);
    doubt += std::pow(
        std::exp(m[j]) * std::expm1(std::min(4.0, std::max(q, 0.3) * model.ladder.clusters.scatter[j])), 2);
  }
  const double f[] = {runtime::kMostExtra, std::log(total), std::log(std::sqrt(doubt) / total), q};
  double t = rung.b.intercept;
  for (size_t u = 0; u < 5; ++u) {
    double unit = rung.b.hidden_bias[u];
    for (size_t i = 0; i < x.size(); ++i)
      unit += static_cast<double>(rung.b.hidden_weight[u * x.size() + i]) * x[i];
    for (size_t e = 0; e < 4; ++e) unit += static_cast<double>(rung.extra[u * 4 + e]) * f[e];
    t += rung.b.output[u] * std::max(0.0, unit);
  }
  const double expected = std::log(total) + std::clamp(t, -runtime::kTailBound, runtime::kTailBound);
  RC_ASSERT(std::fabs(log_normalizer_of(open, x, SELFNORM_RUNG(5)) - expected) < 1e-4);
}

// Estimates of clusters are as wrong at x = 0 as near it, so that clusters are summed there, too.
RC_GTEST_PROP(Nearest, AnInputOfZerosIsDoubted, (uint32_t seed)) {
  std::mt19937 random(seed);
  const ModelFile model = with_ladder(random, kKinds[random() % 3]);
  const OpenModel open(model);
  const std::vector<float> x(model.features, 0.0f);
  RC_ASSERT(std::fabs(log_normalizer_of(open, x, SELFNORM_RUNG(3)) - reference_log_normalizer(model, x)) <
            tolerance(model));
}

RC_GTEST_PROP(Nearest, SparseAndDenseInputsAgree, (uint32_t seed)) {
  std::mt19937 random(seed);
  const ModelFile model = with_ladder(random, kKinds[random() % 3]);
  const OpenModel open(model);
  auto x = normals(random, model.features);
  Sparse sparse;
  for (uint32_t j = 0; j < x.size(); ++j) {
    if (random() % 2 == 0) x[j] = 0;
    if (x[j] != 0) sparse.index.push_back(j), sparse.value.push_back(x[j]);
  }
  const uint32_t classes[] = {0, model.classes - 1};
  for (size_t rung = 0; rung < selfnorm_rungs(open); ++rung) {
    double dense[2], other[2];
    RC_ASSERT(selfnorm_score_dense(open, x.data(), x.size(), classes, 2, SELFNORM_RUNG(rung), dense) ==
              SELFNORM_OK);
    RC_ASSERT(selfnorm_score_sparse(open, sparse.index.data(), sparse.value.data(), sparse.index.size(),
                                    classes, 2, SELFNORM_RUNG(rung), other) == SELFNORM_OK);
    RC_ASSERT(std::fabs(dense[0] - other[0]) < 0.03 && std::fabs(dense[1] - other[1]) < 0.03);
    // One log Z for all candidates of an input.
    double raw[2];
    RC_ASSERT(selfnorm_score_dense(open, x.data(), x.size(), classes, 2, SELFNORM_RAW, raw) == SELFNORM_OK);
    RC_ASSERT(dense[0] <= 0 && dense[1] <= 0);
    if (dense[0] < 0 && dense[1] < 0) RC_ASSERT(std::fabs((raw[0] - dense[0]) - (raw[1] - dense[1])) < 1e-9);
  }
}

TEST(Ladder, KindsChooseTheRungTheySay) {
  std::mt19937 random(1);
  const ModelFile model = with_ladder(random, WeightKind::Float32);
  const OpenModel open(model);
  ASSERT_EQ(selfnorm_rungs(open), 6u);
  selfnorm_rung rung;
  ASSERT_EQ(selfnorm_rung_at(open, 2, &rung), SELFNORM_OK);
  EXPECT_EQ(std::string(rung.name, rung.name_length), "network-7");
  EXPECT_EQ(rung.kind, SELFNORM_NETWORK);
  EXPECT_EQ(rung.eps, 0.3);
  EXPECT_EQ(selfnorm_rung_at(open, 6, &rung), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_kind_within(open, 0.1, 0.01), SELFNORM_RUNG(4));
  EXPECT_EQ(selfnorm_kind_within(open, 0.5, 0.01), SELFNORM_RUNG(1));
  EXPECT_EQ(selfnorm_kind_within(open, 2, 0.01), SELFNORM_RUNG(0));
  EXPECT_EQ(selfnorm_kind_within(open, 2, 0.001), SELFNORM_EXACT);
  EXPECT_EQ(selfnorm_kind_within(open, 0.001, 0.01), SELFNORM_EXACT);
  double promised[3];
  selfnorm_promise(open, promised, promised + 1, promised + 2);
  EXPECT_EQ(promised[0], 0.1);
  EXPECT_EQ(promised[1], 0.01);
  EXPECT_EQ(promised[2], 0.99);
  const auto x = normals(random, model.features);
  EXPECT_EQ(log_normalizer_of(open, x, SELFNORM_AUTO), log_normalizer_of(open, x, SELFNORM_RUNG(4)));
  EXPECT_EQ(log_normalizer_of(open, x, SELFNORM_NEAREST), log_normalizer_of(open, x, SELFNORM_RUNG(4)));
  EXPECT_EQ(log_normalizer_of(open, x, SELFNORM_LINEAR), log_normalizer_of(open, x, SELFNORM_RUNG(1)));
  double eps = -1, rho = -1;
  ASSERT_EQ(selfnorm_error_bound(open, SELFNORM_AUTO, &eps, &rho), SELFNORM_OK);
  EXPECT_EQ(eps, 0.08);
  EXPECT_EQ(rho, 0.01);
  ASSERT_EQ(selfnorm_error_bound(open, SELFNORM_EXACT, &eps, &rho), SELFNORM_OK);
  EXPECT_EQ(eps, 0);
  ASSERT_EQ(selfnorm_error_bound(open, SELFNORM_RAW, &eps, &rho), SELFNORM_OK);
  EXPECT_EQ(eps, 0.9);
  double out = 0;
  const uint32_t k = 0;
  EXPECT_EQ(selfnorm_score_dense(open, x.data(), x.size(), &k, 1, SELFNORM_RUNG(6), &out),
            SELFNORM_ERROR_ARGUMENT);
}

TEST(Ladder, WithoutOneAutoIsExact) {
  std::mt19937 random(2);
  const ModelFile model = random_model(random, 30, 5, WeightKind::Float32);
  const OpenModel open(model);
  const auto x = normals(random, 5);
  const uint32_t k = 3;
  double chosen = 0, exact = 1, eps = 1, rho = 1;
  ASSERT_EQ(selfnorm_score_dense(open, x.data(), 5, &k, 1, SELFNORM_AUTO, &chosen), SELFNORM_OK);
  ASSERT_EQ(selfnorm_score_dense(open, x.data(), 5, &k, 1, SELFNORM_EXACT, &exact), SELFNORM_OK);
  EXPECT_EQ(chosen, exact);
  ASSERT_EQ(selfnorm_error_bound(open, SELFNORM_AUTO, &eps, &rho), SELFNORM_OK);
  EXPECT_EQ(eps, 0);
  ASSERT_EQ(selfnorm_error_bound(open, SELFNORM_RAW, &eps, &rho), SELFNORM_OK);
  EXPECT_TRUE(std::isinf(eps));
  EXPECT_EQ(selfnorm_score_dense(open, x.data(), 5, &k, 1, SELFNORM_NEAREST, &chosen),
            SELFNORM_ERROR_ARGUMENT);
}

// Every second call is checked; the rung without sums of clusters with random masses is far off, the exact
// one is not.
TEST(Ladder, WatchedCallsAreCounted) {
  std::mt19937 random(3);
  const ModelFile model = with_ladder(random, WeightKind::Float32);
  OpenModel open(model);
  selfnorm_watch(open.get(), 2);
  uint64_t checked = 7, exceeded = 7;
  for (int i = 0; i < 10; ++i) log_normalizer_of(open, normals(random, model.features), SELFNORM_RUNG(3));
  selfnorm_watched(open, &checked, &exceeded);
  EXPECT_EQ(checked, 5u);
  EXPECT_EQ(exceeded, 0u);
  for (int i = 0; i < 10; ++i) log_normalizer_of(open, normals(random, model.features), SELFNORM_RUNG(5));
  selfnorm_watched(open, &checked, &exceeded);
  EXPECT_EQ(checked, 10u);
  EXPECT_EQ(exceeded, 5u);
}

// So are those of a raw rung that SELFNORM_AUTO takes.
TEST(Ladder, RawRungsAreWatchedToo) {
  std::mt19937 random(3);
  ModelFile model = with_ladder(random, WeightKind::Float32);
  model.ladder.rungs[0].eps = 1e-9;
  OpenModel open(model);
  const auto x = normals(random, model.features);
  const double before = log_normalizer_of(open, x, SELFNORM_AUTO);
  selfnorm_watch(open.get(), 1);
  EXPECT_EQ(log_normalizer_of(open, x, SELFNORM_AUTO), before);
  uint64_t checked = 7, exceeded = 7;
  selfnorm_watched(open, &checked, &exceeded);
  EXPECT_EQ(checked, 1u);
  EXPECT_EQ(exceeded, 1u);
}

// Whatever the constants of the model are: with c = -100 every raw score is above 0, and so are those less a
// random b(x) where the biases are large.
TEST(Ladder, NothingServedByARungIsAbove0) {
  std::mt19937 random(5);
  ModelFile model = random_model(random, 40, 5, WeightKind::Float32);
  model.log_normalizer = -100;
  for (float& b : model.bias) b += 100;
  model.normalizer = random_normalizer(random, 5, 0);
  model.ladder = random_ladder(random, model, 7);
  model.ladder.rungs[0].eps = 1e-9;  // AUTO is raw
  const OpenModel open(model);
  const auto x = normals(random, 5);
  std::vector<uint32_t> classes(model.classes), best(model.classes);
  std::iota(classes.begin(), classes.end(), 0u);
  std::vector<double> out(model.classes);
  std::vector<int> kinds = {SELFNORM_AUTO, SELFNORM_NEAREST, SELFNORM_LINEAR, SELFNORM_NETWORK};
  for (size_t i = 0; i < selfnorm_rungs(open); ++i) kinds.push_back(SELFNORM_RUNG(i));
  for (const int kind : kinds) {
    ASSERT_EQ(selfnorm_score_dense(open, x.data(), 5, classes.data(), out.size(), kind, out.data()),
              SELFNORM_OK);
    EXPECT_LE(*std::max_element(out.begin(), out.end()), 0) << kind;
    ASSERT_EQ(selfnorm_top_dense(open, x.data(), 5, out.size(), kind, best.data(), out.data()), SELFNORM_OK);
    EXPECT_LE(*std::max_element(out.begin(), out.end()), 0) << kind;
  }
  for (const int kind : {SELFNORM_RAW, SELFNORM_AMORTISED}) {  // asked for by name: as they are
    ASSERT_EQ(selfnorm_score_dense(open, x.data(), 5, classes.data(), out.size(), kind, out.data()),
              SELFNORM_OK);
    EXPECT_GT(*std::max_element(out.begin(), out.end()), 0) << kind;
  }
}

TEST(Ladder, SurvivesItsFile) {
  std::mt19937 random(4);
  ModelFile model = with_ladder(random, WeightKind::Bfloat16);
  model.ladder.rungs[1].eps = std::numeric_limits<double>::infinity();
  model.ladder.rungs[2].name = "network-1e+03";
  const std::string bytes = saved_bytes(model);
  EXPECT_EQ(parse_model(std::as_bytes(std::span(bytes)), "m").ladder, model.ladder);
}

struct Damage {
  std::string name;
  void (*change)(Ladder&);
};
std::ostream& operator<<(std::ostream& out, const Damage& d) { return out << d.name; }

class DamagedLadder : public testing::TestWithParam<Damage> {};

TEST_P(DamagedLadder, IsRefused) {
  std::mt19937 random(5);
  ModelFile model = with_ladder(random, WeightKind::Float32);
  GetParam().change(model.ladder);
  EXPECT_THROW(model_bytes(model, "m"), Error);
}

INSTANTIATE_TEST_SUITE_P(
    Changes, DamagedLadder,
    testing::Values(Damage{"a class twice", [](Ladder& l) { l.clusters.order[0] = l.clusters.order[1]; }},
                    Damage{"a class beyond the last", [](Ladder& l) { l.clusters.order[0] = 100000; }},
                    Damage{"clusters out of order",
                           [](Ladder& l) { std::swap(l.clusters.begin[0], l.clusters.begin[1]); }},
                    Damage{"a scatter below 0", [](Ladder& l) { l.clusters.scatter[0] = -1; }},
                    Damage{"a mass that is no number", [](Ladder& l) { l.clusters.mass[0] = NAN; }},
                    Damage{"a tail that is no number", [](Ladder& l) { l.rungs[4].extra[0] = NAN; }}));

// Links of a file that was changed after it was written are met while scoring.
TEST(Ladder, AChangedOrderIsNotFollowed) {
  std::mt19937 random(6);
  ModelFile model = with_ladder(random, WeightKind::Float32);
  model.ladder.clusters.rows.clear();
  std::string bytes = model_bytes(model, "m");
  const std::string order(reinterpret_cast<const char*>(model.ladder.clusters.order.data()), 8);
  const size_t at = bytes.find(order);
  ASSERT_NE(at, std::string::npos);
  for (size_t i = 0; i < 4; ++i) bytes[at + i] = '\xFF';
  const OpenModel open(bytes);
  ASSERT_EQ(open.status(), SELFNORM_OK);
  const auto x = normals(random, model.features);
  // The rung has no number, so A(x) is served.
  EXPECT_NEAR(log_normalizer_of(open, x, SELFNORM_RUNG(3)), reference_log_normalizer(model, x), 2e-4);
}

// Clusters up to the limit are within the bound, and those up to a twentieth more are not; or each of the
// others is beyond it alone.
RC_GTEST_PROP(NearestSum, LeavesWhatIsWithinTheBound, (uint32_t seed)) {
  std::mt19937 random(seed);
  const size_t n = up_to(random, 200);
  std::vector<float> doubt, worth;
  std::vector<uint32_t> begin{0};
  for (size_t j = 0; j < n; ++j) {
    begin.push_back(begin.back() + up_to(random, 40));
    doubt.push_back(std::exp(static_cast<float>(up_to(random, 60)) - 50) *
                    (1 + std::abs(normals(random, 1)[0])));
    worth.push_back(doubt.back() / static_cast<float>(begin[j + 1] - begin[j]));
  }
  const runtime::SharedClusters all{{}, doubt, worth, {}, begin};
  const auto up_to_worth = [&](float most) {
    double sum = 0;
    for (size_t j = 0; j < n; ++j) sum += worth[j] <= most ? static_cast<double>(doubt[j]) : 0;
    return sum;
  };
  for (const runtime::Kernels* kernels : {&runtime::kPortableKernels, &runtime::best_kernels()})
    for (const double bound : {0.0, 1e-20, 1e-6, 1.0, 1e4, 1e30}) {
      const float limit = runtime::worth_within(*kernels, all, bound);
      RC_ASSERT(up_to_worth(limit) <= bound * (1 + 1e-5));
      const double more = up_to_worth(1.05f * limit);
      RC_ASSERT(more >= bound * (1 - 1e-5) || 1.05 * static_cast<double>(limit) >= bound);
    }
}

// Two clusters are estimated tens of nats too large, as of inputs far from those of the fit: what is left has
// no digits in units of them. 40 clusters of true log-masses 0 to 1, whose estimates are right.
TEST(NearestSum, IsRightWhereEstimatesAreFarTooLarge) {
  constexpr size_t kClusters = 42;
  for (const float wrong : {20.0f, 45.0f, 70.0f}) {
    std::vector<float> share(kClusters), doubt(kClusters), worth(kClusters), truth(kClusters);
    const std::vector<float> scatter(kClusters, 0.4f);
    std::vector<uint32_t> begin{0};
    double total = 0;
    for (size_t j = 0; j < kClusters; ++j) {
      truth[j] = j < 2 ? -3.0f : static_cast<float>(j) / kClusters;
      share[j] = j == 0 ? wrong : j == 1 ? wrong / 2 : truth[j];
      total += std::exp(static_cast<double>(truth[j]));
      begin.push_back(begin.back() + 3);
    }
    const runtime::Kernels& kernels = runtime::best_kernels();
    const runtime::ClusterShares all =
        kernels.cluster_shares(kClusters, scatter.data(), 5, share.data(), doubt.data());
    size_t asked = 0;
    const auto exact = [&](std::span<const uint32_t> some, LogSumExp* sum) {
      for (const uint32_t cluster : some) sum->add(static_cast<double>(truth[cluster]));
      asked += some.size();
      return true;
    };
    runtime::NearestSum sum;
    ASSERT_TRUE(
        runtime::nearest_sum(kernels, all, 5, {share, doubt, worth, scatter, begin}, 0.01, exact, &sum));
    EXPECT_NEAR(sum.log_z(0), std::log(total), 0.01) << wrong;
    EXPECT_LE(asked, kClusters);
    EXPECT_EQ(sum.cost, 3 * asked);
  }
}

TEST(Rungs, AreWhatTheirTextSays) {
  const std::string text =
      R"({"rungs": [{"name": "raw", "kind": "raw", "cost": 0, "rms": 0.2, "rho": 0.01, "conf": 0.99},
          {"name": "nearest-0.05", "kind": "nearest", "cost": 12.5, "rms": 1e-3, "eps": 0.05, "rho": 0.01, "conf": 0.99,
           "stop": 0.05}])";
  const auto [rungs, usual] = runtime::parse_rungs(text + "}", "f");
  ASSERT_EQ(rungs.size(), 2u);
  EXPECT_TRUE(std::isinf(rungs[0].eps));
  EXPECT_EQ(rungs[1].cost, 12.5);
  EXPECT_EQ(usual, runtime::Promise());
  EXPECT_EQ(runtime::parse_rungs(rungs_json(rungs), "f").rungs, rungs);
  EXPECT_EQ(runtime::cheapest_within(rungs, {.within = 0.1}), 1u);
  EXPECT_EQ(runtime::cheapest_within(rungs, {.within = 0.01}), runtime::kNoRung);
  EXPECT_EQ(runtime::cheapest_within(rungs, {.within = 0.1, .rho = 0.001}), runtime::kNoRung);
  EXPECT_EQ(runtime::cheapest_within(rungs, {.within = 0.1, .conf = 0.999}), runtime::kNoRung);
  const runtime::Promise other{.within = 0.25, .rho = 0.05, .conf = 0.9};
  EXPECT_EQ(runtime::parse_rungs(rungs_json(rungs, other), "f").promise, other);
  for (const char* wrong : {R"(, "within": 0})", R"(, "rho": 1})", R"(, "conf": 1.5})", R"(, "eps": 0.1})"})
    EXPECT_THROW(runtime::parse_rungs(text + wrong, "f"), runtime::FormatError) << wrong;
}

TEST(Rungs, RefuseWhatTheyDoNotKnow) {
  for (const char* text :
       {"", "{}", R"({"rungs": []})", R"({"rungs": [{"name": "a"}]})",
        R"({"rungs": [{"name": "A", "kind": "raw"}]})", R"({"rungs": [{"name": "a", "kind": "b"}]})",
        R"({"rungs": [{"name": "a", "kind": "raw", "cost": -1}]})",
        R"({"rungs": [{"name": "a", "kind": "raw", "eps": 1e999}]})",
        R"({"rungs": [{"name": "a", "kind": "raw", "odd": 1}]})",
        R"({"rungs": [{"name": "a", "kind": "raw"}, {"name": "a", "kind": "raw"}]})",
        R"({"rungs": [{"name": "a", "kind": "raw"}]} x)"})
    EXPECT_THROW(runtime::parse_rungs(text, "f"), runtime::FormatError) << text;
}

}  // namespace
}  // namespace selfnorm::test

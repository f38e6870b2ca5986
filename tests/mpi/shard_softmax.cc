// Softmaxes of classes that are split over processes (threads, here), against enumeration by one.
#include "normalizer/shard_softmax.h"

#include <gtest/gtest.h>

#include <mutex>
#include <utility>

#include "engine/checkpoint.h"
#include "math/process/thread_job.h"
#include "normalizer/enumeration.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

struct Seen {
  std::vector<double> score, log_z, gradient;  // of all classes
  bool operator==(const Seen&) const = default;
};

// The loss sum_i (A_i - s_i) + A_i^2 of a pass; of a shard, from its own columns of theta.
Seen seen_by(const ExactPass<double>& pass, uint64_t rows, std::span<const double> theta) {
  Seen out{std::vector<double>(rows), std::vector<double>(rows), std::vector<double>(pass.gradient_size())};
  pass.run(
      theta, rows,
      [&](uint64_t i, double score, double log_z) {
        out.score[i] = score;
        out.log_z[i] = log_z;
        return ScoreDerivatives{-1, 1 + 2 * log_z};
      },
      out.gradient);
  return out;
}

TEST(ShardSoftmax, IsTheEnumerationOfAllClasses) {
  for (const bool is_sparse : {false, true})
    for (const uint32_t classes : {2u, 7u, 130u}) {  // fewer than processes; than blocks; more
      const uint32_t features = 5;
      const Dataset data =
          random_dataset({.rows = 300, .features = features, .classes = classes, .sparse = is_sparse}, 3);
      const auto theta = random_vector<double>(size_t{features + 1} * classes, 4, 0.5);
      const Multiclass<double> model(data.features, classes, features, {});
      const Seen expected = seen_by(Enumeration<double>(model, data.target), 300, theta);
      std::optional<Seen> first;
      for (const int processes : {1, 2, 3, 4}) {
        std::mutex guard;
        run_as_processes(processes, [&](int) {
          const ClassShard shard(classes);
          const auto own = shard.part_of_columns(theta, features + 1);
          Seen found = seen_by(*make_shard_pass<double>(shard, data, features), 300, own);
          found.gradient =
              shard.is_whole() ? found.gradient : shard.gathered_columns(found.gradient, features + 1);
          const std::lock_guard lock(guard);
          if (!first) first = found;
          EXPECT_EQ(found, *first) << processes;  // the same bits in every process, by any number of them
        });
      }
      for (size_t i = 0; i < 300; ++i) {
        EXPECT_NEAR(first->score[i], expected.score[i], 1e-13);
        EXPECT_NEAR(first->log_z[i], expected.log_z[i], 1e-12);
      }
      for (size_t j = 0; j < expected.gradient.size(); ++j)
        EXPECT_NEAR(first->gradient[j], expected.gradient[j], 1e-9) << classes;
    }
}

TEST(ShardSoftmax, CheckpointsHoldAllClasses) {
  const uint32_t classes = 9, each = 3;
  const auto all = random_vector<float>(classes * each, 5);
  auto columns = random_vector<float>(classes * each + 1, 6);  // and a value after them
  for (const int processes : {2, 4}) {
    std::mutex guard;
    run_as_processes(processes, [&](int rank) {
      const ClassShard shard(classes);
      std::vector<float> rows = shard.part_of(all, each), own = shard.part_of_columns(columns, each);
      std::vector<float> parts{1, 2};
      parts.insert(parts.end(), rows.begin(), rows.end());
      const std::vector<SplitPart> cut{{2, 0}, {rows.size(), each}};
      Checkpoint written;
      CheckpointFields to(written);
      to.split("rows", rows, each, shard);
      to.split_columns("columns", own, each, shard);
      to.split_parts("parts", parts, cut, shard);
      Checkpoint damaged;
      for (const char* name : {"rows", "columns", "parts"}) damaged.keep(name, std::vector<float>{1});
      CheckpointFields from(std::as_const(damaged));
      EXPECT_THROW(from.split("rows", rows, each, shard), Error);
      EXPECT_THROW(from.split_columns("columns", own, each, shard), Error);
      EXPECT_THROW(from.split_parts("parts", parts, cut, shard), Error);
      if (rank > 0) return;
      std::vector<float> found;
      written.get("rows", found);
      EXPECT_EQ(found, all);
      written.get("columns", found = {});
      EXPECT_EQ(found, columns);
      std::vector<float> expected{1, 2};
      expected.insert(expected.end(), all.begin(), all.end());
      written.get("parts", found = {});
      EXPECT_EQ(found, expected);
    });
  }
}

}  // namespace
}  // namespace selfnorm

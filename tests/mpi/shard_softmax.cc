// Softmaxes of classes that are split over processes (threads, here), against enumeration by one.
#include "normalizer/shard_softmax.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <utility>

#include "audit/evaluation.h"
#include "engine/checkpoint.h"
#include "math/process/thread_job.h"
#include "normalizer/enumeration.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// What a process has of a matrix with a column for every class, and of what stands after it.
template <class T>
std::vector<T> part_of(const ClassShard& shard, const std::vector<T>& all, size_t rows) {
  std::vector<T> out;
  const auto add = [&](size_t begin, size_t end) {
    out.insert(out.end(), all.begin() + static_cast<std::ptrdiff_t>(begin),
               all.begin() + static_cast<std::ptrdiff_t>(end));
  };
  for (size_t j = 0; j < rows; ++j)
    add(j * shard.classes() + shard.own().begin, j * shard.classes() + shard.own().end);
  add(rows * shard.classes(), all.size());
  return out;
}

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
        std::optional<Seen> sum;
        run_as_processes(processes, [&](int) {
          const ClassShard shard(classes);
          const auto own = part_of(shard, theta, features + 1);
          Seen found = seen_by(*make_shard_pass<double>(shard, data, features), 300, own);
          std::vector<double> gradient(theta.size());  // 0 where the classes are another's
          for (size_t j = 0; j <= features; ++j)
            std::copy_n(found.gradient.begin() + static_cast<std::ptrdiff_t>(j * shard.own().size()),
                        shard.own().size(),
                        gradient.begin() + static_cast<std::ptrdiff_t>(j * classes + shard.own().begin));
          found.gradient = gradient;
          const std::lock_guard lock(guard);
          if (!sum) sum = Seen{found.score, found.log_z, std::vector<double>(theta.size())};
          EXPECT_EQ(found.score, sum->score) << processes;  // the same bits in every process
          EXPECT_EQ(found.log_z, sum->log_z) << processes;
          for (size_t j = 0; j < theta.size(); ++j) sum->gradient[j] += found.gradient[j];
        });
        if (!first) first = sum;
        EXPECT_EQ(*sum, *first) << processes;  // and by any number of them
      }
      for (size_t i = 0; i < 300; ++i) {
        EXPECT_NEAR(first->score[i], expected.score[i], 1e-13);
        EXPECT_NEAR(first->log_z[i], expected.log_z[i], 1e-12);
      }
      for (size_t j = 0; j < expected.gradient.size(); ++j)
        EXPECT_NEAR(first->gradient[j], expected.gradient[j], 1e-9) << classes;
    }
}

// What evaluate() says of all classes, for any number of processes: also the ranks of the targets, with ties.
TEST(ShardSoftmax, EvaluationIsThatOfAllClasses) {
  for (const bool is_sparse : {false, true})
    for (const uint32_t classes : {3u, 130u, 2000u}) {
      const uint32_t features = 4;
      const Dataset data =
          random_dataset({.rows = 150, .features = features, .classes = classes, .sparse = is_sparse}, 7);
      ModelFile model;
      model.classes = classes;
      model.features = features;
      model.input = is_sparse ? ModelInput::Sparse : ModelInput::Dense;
      model.weight = random_vector<float>(size_t{features} * classes, 8);
      model.bias = random_vector<float>(classes, 9);
      for (size_t j = 0; j < features; ++j) model.weight[features + j] = model.weight[j];
      model.bias[1] = model.bias[0];
      const Evaluation expected = evaluate(model, data);
      std::optional<Evaluation> first;
      for (const int processes : {1, 2, 3, 4}) {
        std::mutex guard;
        run_as_processes(processes, [&](int) {
          const ClassShard shard(classes);
          ModelFile own = model;
          own.weight.assign(model.weight.begin() + static_cast<std::ptrdiff_t>(shard.own().begin * features),
                            model.weight.begin() + static_cast<std::ptrdiff_t>(shard.own().end * features));
          own.bias = part_of(shard, model.bias, 1);
          const Evaluation found = evaluate(own, shard, data);
          const std::lock_guard lock(guard);
          if (!first) first = found;
          EXPECT_EQ(found.nll_exact, first->nll_exact) << processes;  // the same bits
          EXPECT_EQ(found.log_z.rms, first->log_z.rms) << processes;
          EXPECT_EQ(found.accuracy, expected.accuracy);
          EXPECT_EQ(found.top5, expected.top5);
          EXPECT_NEAR(found.nll_exact, expected.nll_exact, 1e-5);
          EXPECT_NEAR(found.nll_raw, expected.nll_raw, 1e-5);
          EXPECT_NEAR(found.kl_uniform, expected.kl_uniform, 1e-5);
          EXPECT_NEAR(found.log_z.mean, expected.log_z.mean, 1e-5);
        });
      }
    }
}

class CheckpointParts : public testing::Test {
 protected:
  CheckpointParts() {
    std::string name = (std::filesystem::temp_directory_path() / "selfnorm-parts-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    path_ = folder_ / "checkpoint.safetensors";
  }
  ~CheckpointParts() override { std::filesystem::remove_all(folder_); }

  // Rows of 3 for each class, a matrix of 2 rows with a column each and a number behind it, nothing, and rows
  // that are set aside.
  struct State {
    std::vector<float> rows, aside;
    std::vector<double> columns, none;
  };
  static State whole() {
    return {random_vector<float>(kClasses * 3, 5),
            random_vector<float>(kClasses * 2, 6),
            random_vector<double>(kClasses * 2 + 1, 7),
            {}};
  }
  static State own_of(const ClassShard& shard, const State& all) {
    const auto each = [&](const std::vector<float>& from, size_t n) {
      return std::vector<float>(from.begin() + static_cast<std::ptrdiff_t>(shard.own().begin * n),
                                from.begin() + static_cast<std::ptrdiff_t>(shard.own().end * n));
    };
    return {each(all.rows, 3), each(all.aside, 2), part_of(shard, all.columns, 2), {}};
  }
  void fields(CheckpointFields& fields, State& state, const ClassShard& shard) const {
    SetAside aside(folder_.string());
    aside.put(state.aside);
    fields.split("rows", state.rows, shard, {.each = 3});
    fields.split("columns", state.columns, shard, {.rows = 2});
    fields.split("none", state.none, shard, {.each = 4});
    fields.split("aside", aside, shard, 2);
    if (!fields.reads()) return save(fields);
    state.aside.resize(aside.size());
    aside.get(state.aside);
  }
  void save(CheckpointFields& fields) const {
    auto& checkpoint = const_cast<Checkpoint&>(fields.from());
    checkpoint.save_parts(path_, generation_);
    if (is_first_process()) checkpoint.save(path_);
  }
  void write(int processes, uint64_t generation) {
    generation_ = generation;
    run_as_processes(processes, [&](int) {
      const ClassShard shard(kClasses);
      State own = own_of(shard, whole());
      Checkpoint checkpoint;
      CheckpointFields to(checkpoint);
      fields(to, own, shard);
    });
  }
  void read(int processes) const {
    run_as_processes(processes, [&](int) {
      const ClassShard shard(kClasses);
      const State expected = own_of(shard, whole());
      const Checkpoint checkpoint = Checkpoint::load(path_);
      CheckpointFields from(checkpoint);
      State found;
      found.none = {1};
      fields(from, found, shard);
      EXPECT_EQ(found.rows, expected.rows);
      EXPECT_EQ(found.columns, expected.columns);
      EXPECT_EQ(found.none, expected.none);
      EXPECT_EQ(found.aside, expected.aside);
    });
  }
  void expect_refused(const std::string& text) const {
    try {
      read(1);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }
  std::filesystem::path part(uint64_t generation, int i, int of) const {
    return folder_ / fmt::format("checkpoint-{}-{:05}-of-{:05}.safetensors", generation, i, of);
  }

  static constexpr uint32_t kClasses = 130;
  std::filesystem::path folder_, path_;
  uint64_t generation_ = 1;
};

TEST_F(CheckpointParts, AreReadByAnyNumberOfProcesses) {
  for (const int writers : {1, 2, 3, 4}) {
    write(writers, static_cast<uint64_t>(writers));
    for (const int readers : {1, 2, 3, 4}) read(readers);
  }
}

TEST_F(CheckpointParts, OfOtherGenerationsGo) {
  write(3, 4);
  write(2, 5);
  EXPECT_EQ(next_checkpoint_generation(path_), 6u);
  EXPECT_TRUE(std::filesystem::exists(part(4, 3, 3)));
  remove_checkpoint_parts(path_);
  EXPECT_FALSE(std::filesystem::exists(part(4, 3, 3)));
  read(4);
  std::filesystem::rename(path_, path_.string() + ".replaced");  // a run that is set aside keeps its own
  remove_checkpoint_parts(path_);
  EXPECT_TRUE(std::filesystem::exists(part(5, 1, 2)));
  std::filesystem::remove(path_.string() + ".replaced");
  remove_checkpoint_parts(path_);
  EXPECT_FALSE(std::filesystem::exists(part(5, 1, 2)));
}

TEST_F(CheckpointParts, MissingMixedAndDamagedOnesAreRefused) {
  write(3, 1);
  std::filesystem::rename(part(1, 2, 3), folder_ / "aside");
  expect_refused("checkpoint-1-00002-of-00003.safetensors: cannot open");
  std::filesystem::copy_file(part(1, 3, 3), part(1, 2, 3));
  expect_refused("found a part of another checkpoint, expected part 2 of 3");
  std::filesystem::rename(folder_ / "aside", part(1, 2, 3));
  read(2);
  {
    std::fstream file(part(1, 2, 3), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-3, std::ios::end);
    file.put(static_cast<char>(0x55));
  }
  expect_refused("checkpoint-1-00002-of-00003.safetensors: the checksum does not match");
}

}  // namespace
}  // namespace selfnorm

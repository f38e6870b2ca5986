// Small minibatches of candidate objectives, of every kind of noise and with what is easily wrong: draws that
// are the target, rows without any other draw, offsets, classes drawn often, single rows. Each has a name.
#pragma once

#include "gpu/classes_reference.h"
#include "head_problems.h"

namespace selfnorm::gpu {

struct NamedSampled {
  std::string name;
  SampledProblem problem;
};

inline SampledProblem random_sampled(uint32_t seed, int objective, int64_t rows, int64_t dim, int64_t classes,
                                     int64_t draws, bool is_shared) {
  std::mt19937 random(seed);
  SampledProblem p;
  p.rows = rows, p.dim = dim, p.classes = classes, p.draws = draws;
  p.objective = objective, p.is_shared = is_shared;
  p.states = normals(random, rows * dim, 1);
  p.weight = normals(random, classes * dim, 1 / std::sqrt(static_cast<float>(dim)));
  const auto log_q = [&](uint32_t k) {  // proportional to 1 / (k + 2), nearly
    return -std::log(static_cast<float>(k + 2)) - std::log(std::log(static_cast<float>(classes + 2)));
  };
  const auto drawn = [&](std::vector<uint32_t>& to, std::vector<float>& q, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const double u = static_cast<double>(random() % 100000) / 100000;
      const auto k = static_cast<uint32_t>(static_cast<double>(classes) * u * u * u);  // the first ones often
      to.push_back(k);
      q.push_back(log_q(k));
    }
  };
  drawn(p.target, p.target_log_q, rows);
  drawn(p.draw, p.draw_log_q, is_shared ? draws : rows * draws);
  return p;
}

inline std::vector<NamedSampled> sampled_problems() {
  std::vector<NamedSampled> out;
  const char* const names[] = {"snl", "nce", "is", "ranking"};
  for (const int objective : {SELFNORM_SNL, SELFNORM_NCE, SELFNORM_IS, SELFNORM_RANKING}) {
    std::mt19937 random(static_cast<uint32_t>(objective) + 1);
    const auto add = [&](const std::string& name, SampledProblem p) {
      out.push_back({std::string(names[objective]) + ", " + name, std::move(p)});
    };
    for (const bool is_shared : {true, false}) {
      const auto base = [&](int64_t rows, int64_t draws, int64_t classes = 300, int64_t dim = 24) {
        return random_sampled(static_cast<uint32_t>(out.size() + 3), objective, rows, dim, classes, draws,
                              is_shared);
      };
      const std::string kind = is_shared ? "shared" : "own";
      add(kind, base(37, 20));
      add(kind + ", one row", base(1, 20));
      add(kind + ", one draw", base(9, 1));
      add(kind + ", more draws than threads", base(5, 700));
      add(kind + ", few classes and many hits", base(33, 50, 3));
      add(kind + ", 70 columns", base(12, 30, 300, 70));
      SampledProblem p = base(37, 20);
      p.bias = normals(random, p.classes, 1), p.carrier = normals(random, p.classes, 0.5f);
      p.normalizer = normals(random, p.rows, 0.5f, 1);
      add(kind + ", bias, carrier and b", p);
      p.factor = normals(random, p.rows, 1);
      p.factor[3] = 0;
      p.most_push = 0.5f;  // which most rows reach
      add(kind + ", everything, with factors and a limit", p);
      p = base(17, 20);
      p.bias = normals(random, p.classes, 0.5f, 1000);
      p.normalizer.assign(static_cast<size_t>(p.rows), 1000);
      add(kind + ", offset of 1000", p);
    }
    for (const int64_t rows : {1, 2, 40}) {
      SampledProblem p =
          random_sampled(static_cast<uint32_t>(out.size() + 3), objective, rows, 24, 30, rows, true);
      p.draw = p.target, p.draw_log_q = p.target_log_q;
      p.leaves_own = true;
      add("in-batch, " + std::to_string(rows) + " rows", p);
    }
  }
  return out;
}

// The lists of selfnorm_sampled_step: classes in the order of their first use.
struct UsedLists {
  std::vector<uint32_t> used, end, place;

  explicit UsedLists(const SampledProblem& p) {
    std::vector<uint32_t> list = p.draw;
    list.insert(list.end(), p.target.begin(), p.target.end());
    std::vector<std::vector<uint32_t>> places(static_cast<size_t>(p.classes));
    for (uint32_t i = 0; i < list.size(); ++i) {
      if (places[list[i]].empty()) used.push_back(list[i]);
      places[list[i]].push_back(i);
    }
    for (const uint32_t k : used) {
      place.insert(place.end(), places[k].begin(), places[k].end());
      end.push_back(static_cast<uint32_t>(place.size()));
    }
  }
};

inline LinearProblem random_linear(uint32_t seed, int64_t rows, int64_t columns, int64_t classes,
                                   bool is_sparse, bool has_carrier) {
  std::mt19937 random(seed);
  LinearProblem p;
  p.rows = rows, p.columns = columns, p.classes = classes;
  p.x = normals(random, rows * columns, 1);
  if (is_sparse)
    for (size_t i = 0; i < p.x.size(); ++i)
      if (i % static_cast<size_t>(columns) != 0 && random() % 8 != 0) p.x[i] = 0;  // the first column is full
  p.theta = normals(random, (columns + 1) * classes, 0.3f);
  if (has_carrier) p.carrier = normals(random, classes, 0.5f);
  for (int64_t i = 0; i < rows; ++i) {
    p.target.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(classes)));
    p.by_score.push_back(-1.0 / static_cast<double>(rows));
    p.by_log_z.push_back((1 + 0.1 * static_cast<double>(i % 7)) / static_cast<double>(rows));
  }
  return p;
}

}  // namespace selfnorm::gpu

// Small random heads with everything that others got wrong: biases, caps, class counts that no vector
// divides, large common offsets, ignored targets, penalties switched off, single rows. Each has a name.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gpu/head_reference.h"

namespace selfnorm::gpu {

struct NamedProblem {
  std::string name;
  HeadProblem problem;
};

inline std::vector<float> normals(std::mt19937& random, int64_t count, float scale, float offset = 0) {
  std::vector<float> out;
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < count; ++i) out.push_back(offset + scale * normal(random));
  return out;
}

inline HeadProblem random_head_problem(uint32_t seed, int64_t rows, int64_t dim, int64_t classes) {
  std::mt19937 random(seed);
  HeadProblem p;
  p.rows = rows, p.dim = dim, p.classes = classes;
  p.states = normals(random, rows * dim, 1);
  p.weight = normals(random, classes * dim, 1.5f / std::sqrt(static_cast<float>(dim)));
  for (int64_t i = 0; i < rows; ++i)
    p.target.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(classes)));
  return p;
}

inline std::vector<NamedProblem> head_problems() {
  std::vector<NamedProblem> out;
  std::mt19937 random(7);
  const auto add = [&](const std::string& name, HeadProblem p) { out.push_back({name, std::move(p)}); };
  const auto base = [&](int64_t rows = 37, int64_t classes = 203) {
    return random_head_problem(static_cast<uint32_t>(out.size() + 1), rows, 16, classes);
  };
  add("plain", base());
  add("one row", base(1));
  add("one class", base(5, 1));
  add("classes divisible by 8", base(33, 256));
  add("classes of one tile and one more", base(9, 4097));
  add("more classes than one block holds", base(6, 33001));
  HeadProblem p = base();
  p.bias = normals(random, p.classes, 2);
  add("bias", p);
  p.options.penalty = 0.1f;
  p.options.center = 1.5f;
  add("bias and penalty", p);
  p.options.softcap = 3;
  p.options.logit_scale = 0.7f;
  add("bias, penalty, softcap and scale", p);
  p.options.label_smoothing = 0.1f;
  p.carrier = normals(random, p.classes, 0.5f);
  add("bias, carrier, penalty, softcap, scale and smoothing", p);
  p.token_weight.clear();
  for (int64_t i = 0; i < p.rows; ++i) p.token_weight.push_back(0.25f + static_cast<float>(i % 5));
  for (int64_t i = 0; i < p.rows; i += 3) p.target[i] = p.options.ignore_index;
  add("everything, with weights and ignored targets", p);
  p.options.is_mean = 0;
  add("everything, summed", p);
  p.row_gradient = normals(random, p.rows, 1);
  add("everything, with a gradient of each row", p);
  p = base();
  p.bias = normals(random, p.classes, 1, 1000);
  add("offset of 1000", p);
  p.options.penalty = 1e-4f;
  p.options.center = 1000;
  add("offset of 1000 and penalty around it", p);
  p = base();
  p.options.center = 5;  // the penalty is off all the same
  add("penalty disabled", p);
  p = base();
  p.target.assign(p.rows, p.options.ignore_index);
  add("all targets ignored", p);
  p = base();
  p.carrier.assign(p.classes, 0);
  for (int64_t k = 190; k < p.classes; ++k) p.carrier[k] = -INFINITY;
  for (int64_t& t : p.target) t %= 190;
  add("padded classes without mass", p);
  p = base();
  p.target.clear();
  p.row_gradient = normals(random, p.rows, 1);
  add("log Z", p);
  p.row_gradient.clear();
  p.picks = 4;
  for (int64_t i = 0; i < p.rows * p.picks; ++i) p.selected.push_back(static_cast<int64_t>(random() % 203));
  for (int64_t i = 0; i < p.rows; i += 2)
    p.selected[i * p.picks] = p.selected[i * p.picks + 2];  // twice the same
  p.selected_gradient = normals(random, p.rows * p.picks, 1);
  add("selected classes", p);
  p.bias = normals(random, p.classes, 1);
  p.options.softcap = 4;
  add("selected classes, bias and softcap", p);
  return out;
}

// The classes from `begin` to `end` of a problem, with the log Z of all of them.
inline HeadProblem shard_of(const HeadProblem& whole, int64_t begin, int64_t end, const HeadResult& result) {
  HeadProblem p = whole;
  const auto cut = [&](std::vector<float>& values, int64_t each) {
    if (!values.empty()) values = {values.begin() + begin * each, values.begin() + end * each};
  };
  p.classes = end - begin;
  cut(p.weight, p.dim);
  cut(p.bias, 1);
  cut(p.carrier, 1);
  p.options.first_class = begin;
  p.options.all_classes = whole.classes;
  p.given_log_z.assign(result.log_z.begin(), result.log_z.end());
  return p;
}

}  // namespace selfnorm::gpu

// Training of classes (gpu/module_classes.h) without a GPU, by the referee. Lists of uses are followed as the
// kernels follow them, so wrong lists give wrong gradients here, too.
#include <cmath>
#include <cstring>

#include "gpu/classes_reference.h"

namespace {

using namespace selfnorm::gpu;

template <class T>
std::vector<T> copied(const T* from, int64_t count) {
  return from == nullptr ? std::vector<T>() : std::vector<T>(from, from + count);
}

std::vector<float> tight(const void* from, int64_t rows, int64_t columns, int64_t stride) {
  std::vector<float> out;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) out.push_back(static_cast<const float*>(from)[i * stride + j]);
  return out;
}

LinearProblem rows_of(const selfnorm_linear_step& s) {
  LinearProblem p;
  p.rows = s.count, p.columns = s.columns, p.classes = s.classes;
  p.x.resize(static_cast<size_t>(p.rows * p.columns));
  const auto row_of_theta = [&](int64_t j) {
    return s.dense == nullptr && s.feature != nullptr ? int64_t{s.feature[j]} : j;
  };
  for (int64_t i = 0; i < p.rows; ++i) {
    float* const x = p.x.data() + i * p.columns;
    const int64_t row = s.first + i;
    if (s.dense != nullptr)
      std::memcpy(x, s.dense + row * p.columns, static_cast<size_t>(p.columns) * sizeof(float));
    else
      for (uint64_t q = s.row_begin[row]; q < s.row_begin[row + 1]; ++q) x[s.column[q]] = s.value[q];
  }
  for (int64_t j = 0; j <= p.columns; ++j) {
    const float* const from = j == p.columns ? s.bias : s.theta + row_of_theta(j) * p.classes;
    p.theta.insert(p.theta.end(), from, from + p.classes);
  }
  p.carrier = copied(s.carrier, s.classes);
  p.target = copied(s.target + s.first, s.count);
  return p;
}

}  // namespace

extern "C" {

uint64_t selfnorm_sampled_workspace(const selfnorm_sampled_step*) { return 1; }
int selfnorm_sampled_status(selfnorm_cuda_context*, const selfnorm_sampled_step*) { return 0; }
int selfnorm_sampled_run(selfnorm_cuda_context*, const selfnorm_sampled_step* step) {
  const selfnorm_sampled_step& s = *step;
  SampledProblem p;
  p.rows = s.rows, p.dim = s.dim, p.classes = s.classes, p.draws = s.draws, p.objective = s.objective;
  p.is_shared = s.is_shared != 0, p.leaves_own = s.leaves_own != 0, p.most_push = s.most_push;
  p.states = tight(s.states, s.rows, s.dim, s.state_stride);
  p.weight = tight(s.weight, s.classes, s.dim, s.weight_stride);
  const int64_t all = p.is_shared ? s.draws : s.rows * s.draws;
  p.bias = copied(s.bias, s.classes), p.carrier = copied(s.carrier, s.classes);
  p.target = copied(s.target, s.rows), p.draw = copied(s.draw, all);
  p.target_log_q = copied(s.target_log_q, s.rows), p.draw_log_q = copied(s.draw_log_q, all);
  p.normalizer = copied(s.normalizer, s.rows), p.factor = copied(s.factor, s.rows);
  const SampledResult r = sampled_reference(p);
  for (int64_t i = 0; i < s.rows; ++i) {
    const double terms[4] = {r.loss[i], r.d_b[i], r.log_z[i], r.effective[i]};
    for (int64_t j = 0; j < 4; ++j) s.terms[i * 4 + j] = static_cast<float>(terms[j]);
  }
  for (size_t i = 0; s.d_states != nullptr && i < r.d_states.size(); ++i)
    s.d_states[i] = static_cast<float>(r.d_states[i]);
  for (int64_t u = 0; u < s.used_count; ++u) {
    std::vector<double> sum(static_cast<size_t>(s.dim) + 1);
    const auto add = [&](double d, int64_t row) {
      for (int64_t e = 0; e < s.dim; ++e) sum[e] += d * static_cast<double>(p.states[row * s.dim + e]);
      sum.back() += d;
    };
    for (uint32_t q = u > 0 ? s.used_end[u - 1] : 0; q < s.used_end[u]; ++q) {
      const int64_t place = s.used_place[q];
      if (place >= all)
        add(r.d_target[place - all], place - all);
      else if (!p.is_shared)
        add(r.d_draw[place], place / s.draws);
      else
        for (int64_t i = 0; i < s.rows; ++i) add(r.d_draw[i * s.draws + place], i);
    }
    for (int64_t e = 0; e < s.dim; ++e) s.d_used[u * s.dim + e] = static_cast<float>(sum[e]);
    if (s.d_used_bias != nullptr) s.d_used_bias[u] = static_cast<float>(sum.back());
  }
  return 0;
}

int selfnorm_row_adagrad_at(selfnorm_cuda_context*, float* x, float* square, double* decayed,
                            const float* gradient, const uint32_t* index, int64_t rows, int64_t columns,
                            double rate, double log_decay, void*) {
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t row = index != nullptr ? index[i] : i;
    double keep = 1, sum = 0;
    if (decayed != nullptr) {
      keep = std::exp(log_decay - decayed[row]);
      decayed[row] = log_decay;
    }
    for (int64_t j = 0; gradient != nullptr && j < columns; ++j)
      sum += std::pow(static_cast<double>(gradient[i * columns + j]), 2);
    square[row] += static_cast<float>(sum / static_cast<double>(columns));
    for (int64_t j = 0; j < columns; ++j) {
      const double g = gradient != nullptr ? static_cast<double>(gradient[i * columns + j]) : 0;
      float& to = x[row * columns + j];
      to = static_cast<float>(keep * static_cast<double>(to) -
                              rate / std::sqrt(static_cast<double>(square[row])) * g);
    }
  }
  return 0;
}

uint64_t selfnorm_linear_workspace(const selfnorm_linear_step*) { return 1; }
int selfnorm_linear_scores(selfnorm_cuda_context*, const selfnorm_linear_step* s) {
  const LinearResult r = linear_reference(rows_of(*s));
  for (int64_t i = 0; i < s->count; ++i) {
    const double moments[5] = {r.log_z[i], 1, r.expected[i] - r.log_z[i], 0, r.target_score[i]};
    std::memcpy(s->moments + i * 5, moments, sizeof(moments));
    if (s->better != nullptr) s->better[i] = r.better[i];
  }
  return 0;
}
int selfnorm_linear_gradient(selfnorm_cuda_context*, const selfnorm_linear_step* s) {
  LinearProblem p = rows_of(*s);
  p.by_score = copied(s->by_score, s->count);
  p.by_log_z = copied(s->by_log_z, s->count);
  const LinearResult r = linear_reference(p);
  for (size_t i = 0; i < r.gradient.size(); ++i)
    s->gradient[i] = static_cast<float>(r.gradient[i] + (s->is_added != 0 ? s->gradient[i] : 0));
  return 0;
}

int selfnorm_adaptive_run(selfnorm_cuda_context*, const selfnorm_adaptive_step* step) {
  const selfnorm_adaptive_step& s = *step;
  double norm = 0;
  for (int64_t r = 0; r < s.rows; ++r) {
    const bool is_bias_row = s.bias_row >= 0 && r + 1 == s.rows;
    const int64_t row = is_bias_row ? s.bias_row : s.feature != nullptr ? int64_t{s.feature[r]} : r;
    for (int64_t k = 0; k < s.columns; ++k) {
      const bool is_bias = is_bias_row || k == s.bias_column;
      norm += std::pow(static_cast<double>(s.gradient[r * s.columns + k]), 2);
      if (s.theta == nullptr) continue;
      const int64_t at = row * s.columns + k;
      const double g = s.gradient[r * s.columns + k];
      double theta = s.theta[at], square = s.square[at], mean = s.is_adam != 0 ? s.mean[at] : 0;
      adaptive_reference(s, g, s.often != nullptr && !is_bias ? s.often[row] : 1, is_bias, theta, square,
                         mean);
      s.theta[at] = static_cast<float>(theta);
      s.square[at] = static_cast<float>(square);
      if (s.is_adam != 0) s.mean[at] = static_cast<float>(mean);
    }
  }
  if (s.norm != nullptr) s.norm[0] = norm;
  return 0;
}

}  // extern "C"

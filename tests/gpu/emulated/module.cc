// The module's interface without a GPU: memory is the host's, a step is the referee's. So what sends heads to
// a device, and the commands that ask for one, are tested everywhere. Its one device is called "emulated".
#include "gpu/module.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "gpu/energy_reference.h"
#include "gpu/head_reference.h"
#include "gpu/regressor_reference.h"

struct selfnorm_cuda_context {
  std::string error;
};

namespace {

using namespace selfnorm::gpu;

// Nearest, ties to even; of finite numbers.
uint16_t rounded_to_bfloat16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return static_cast<uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}
float from_stored(const void* values, int type, int64_t i) {
  if (type == SELFNORM_F32) return static_cast<const float*>(values)[i];
  return std::bit_cast<float>(static_cast<uint32_t>(static_cast<const uint16_t*>(values)[i]) << 16);
}

HeadProblem problem_of(const selfnorm_head_step& s) {
  HeadProblem p;
  p.rows = s.rows, p.dim = s.dim, p.classes = s.classes;
  p.options = s.options;
  p.has_gradient = s.d_states != nullptr || s.d_weight != nullptr || s.d_bias != nullptr;
  const int64_t parts = s.parts > 1 ? s.parts : 1;
  for (int64_t i = 0; i < s.rows; ++i) {
    for (int64_t j = 0; j < s.dim; ++j) {
      float sum = 0;
      for (int64_t part = 0; part < parts; ++part)
        sum += from_stored(s.states, s.type, (part * s.rows + i) * s.state_stride + j);
      p.states.push_back(sum);
    }
  }
  for (int64_t k = 0; k < s.classes; ++k)
    for (int64_t j = 0; j < s.dim; ++j)
      p.weight.push_back(from_stored(s.weight, s.type, k * s.weight_stride + j));
  if (s.bias != nullptr) p.bias.assign(s.bias, s.bias + s.classes);
  if (s.carrier != nullptr) p.carrier.assign(s.carrier, s.carrier + s.classes);
  if (s.target != nullptr) p.target.assign(s.target, s.target + s.rows);
  if (s.selected != nullptr) {
    p.picks = s.picks;
    p.selected.assign(s.selected, s.selected + s.rows * s.picks);
  }
  if (s.row_gradient != nullptr) p.row_gradient.assign(s.row_gradient, s.row_gradient + s.rows);
  return p;
}

}  // namespace

extern "C" {

int selfnorm_cuda_abi(void) { return SELFNORM_CUDA_ABI; }
int selfnorm_cuda_devices(void) { return 1; }
selfnorm_cuda_context* selfnorm_cuda_open(int, char*, uint64_t) { return new selfnorm_cuda_context; }
void selfnorm_cuda_close(selfnorm_cuda_context* context) { delete context; }
const char* selfnorm_cuda_error(const selfnorm_cuda_context* context) { return context->error.c_str(); }
const char* selfnorm_cuda_name(const selfnorm_cuda_context*) { return "emulated"; }
int selfnorm_cuda_memory(selfnorm_cuda_context*, uint64_t* free_bytes, uint64_t* total_bytes) {
  *free_bytes = *total_bytes = uint64_t{1} << 40;
  return 0;
}
int selfnorm_cuda_allocate(selfnorm_cuda_context* context, uint64_t bytes, void** out) {
  *out = std::malloc(bytes);
  if (*out != nullptr) return 0;
  context->error = "no memory";
  return 1;
}
int selfnorm_cuda_free(selfnorm_cuda_context*, void* memory) {
  std::free(memory);
  return 0;
}
int selfnorm_cuda_upload(selfnorm_cuda_context*, void* to, int type, const float* from, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (type == SELFNORM_F32)
      static_cast<float*>(to)[i] = from[i];
    else
      static_cast<uint16_t*>(to)[i] = rounded_to_bfloat16(from[i]);
  }
  return 0;
}
int selfnorm_cuda_to_host(selfnorm_cuda_context*, void* to, const void* from, uint64_t bytes) {
  std::memcpy(to, from, bytes);
  return 0;
}
int selfnorm_cuda_to_device(selfnorm_cuda_context*, void* to, const void* from, uint64_t bytes) {
  std::memcpy(to, from, bytes);
  return 0;
}
int selfnorm_split_states(selfnorm_cuda_context*, const float* states, int64_t count, void* parts,
                          int32_t part_count, void*) {
  auto* const out = static_cast<uint16_t*>(parts);
  for (int64_t i = 0; i < count; ++i) {
    float rest = states[i];
    for (int64_t part = 0; part < part_count; ++part) {
      out[part * count + i] = rounded_to_bfloat16(rest);
      rest -= from_stored(out, SELFNORM_BF16, part * count + i);
    }
  }
  return 0;
}
int selfnorm_scatter_add(selfnorm_cuda_context*, const float* x, const double* y, const double* shift,
                         int64_t count, int64_t columns, double* room, double* sums, int is_first, void*) {
  const int64_t p = columns + 2;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      room[i * p + j] = static_cast<double>(x[i * columns + j]) - shift[j];
    room[i * p + columns] = y[i] - shift[columns];
    room[i * p + columns + 1] = 1;
  }
  for (int64_t a = 0; a < p; ++a) {
    for (int64_t b = 0; b < p; ++b) {
      double sum = is_first != 0 ? 0 : sums[a * p + b];
      for (int64_t i = 0; i < count; ++i) sum += room[i * p + a] * room[i * p + b];
      sums[a * p + b] = sum;
    }
  }
  return 0;
}
int selfnorm_row_adagrad(selfnorm_cuda_context*, float* x, float* square, const float* gradient, int64_t rows,
                         int64_t columns, double rate, double keep, void*) {
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j) sum += std::pow(static_cast<double>(gradient[r * columns + j]), 2);
    square[r] += static_cast<float>(sum / static_cast<double>(columns));
    for (int64_t j = 0; j < columns; ++j)
      x[r * columns + j] = static_cast<float>(keep * static_cast<double>(x[r * columns + j]) -
                                              rate / std::sqrt(static_cast<double>(square[r])) *
                                                  static_cast<double>(gradient[r * columns + j]));
  }
  return 0;
}
uint64_t selfnorm_head_workspace(const selfnorm_head_step*, uint64_t) { return 1; }

int selfnorm_head_run(selfnorm_cuda_context* context, const selfnorm_head_step* s) {
  try {
    const HeadResult r = head_reference(problem_of(*s));
    for (int64_t i = 0; i < s->rows; ++i) {
      if (s->best != nullptr) s->best[i] = r.best[i];
      if (s->log_z != nullptr) s->log_z[i] = static_cast<float>(r.log_z[i]);
      if (s->target_score != nullptr) s->target_score[i] = static_cast<float>(r.target_score[i]);
      if (s->better != nullptr) s->better[i] = r.better[i];
      if (s->moments == nullptr) continue;
      // With log Z for the max the sum is 1.
      const double moments[5] = {r.log_z[i], 1, r.expected[i] - r.log_z[i], 0, r.target_score[i]};
      std::memcpy(s->moments + i * 5, moments, sizeof(moments));
    }
    const auto give = [](void* to, const std::vector<double>& from) {
      for (size_t i = 0; to != nullptr && i < from.size(); ++i)
        static_cast<float*>(to)[i] = static_cast<float>(from[i]);
    };
    give(s->selected_log_p, r.selected_log_p);
    give(s->d_states, r.d_states);
    give(s->d_weight, r.d_weight);
    give(s->d_bias, r.d_bias);
    return 0;
  } catch (const std::exception& failure) {
    context->error = failure.what();
    return 1;
  }
}

int selfnorm_head_masses(selfnorm_cuda_context* context, const selfnorm_head_step* s, const uint32_t* order,
                         const uint32_t* begin, int64_t clusters, float* masses, double* shares) {
  selfnorm_head_step own = *s;
  if (selfnorm_head_run(context, &own) != 0) return 1;
  const MassResult found = masses_reference(
      problem_of(*s),
      masses != nullptr ? std::vector<uint32_t>(order, order + s->classes) : std::vector<uint32_t>(),
      masses != nullptr ? std::vector<uint32_t>(begin, begin + clusters + 1) : std::vector<uint32_t>());
  for (size_t i = 0; i < found.masses.size(); ++i) masses[i] = static_cast<float>(found.masses[i]);
  for (size_t k = 0; shares != nullptr && k < found.shares.size(); ++k) shares[k] = found.shares[k];
  return 0;
}

int selfnorm_head_difference(selfnorm_cuda_context* context, const selfnorm_head_step* p,
                             const selfnorm_head_step* q, double visible, double* out) {
  if (selfnorm_head_run(context, p) != 0 || selfnorm_head_run(context, q) != 0) return 1;
  const HeadProblem a = problem_of(*p), b = problem_of(*q);
  const auto log_share = [](const HeadProblem& h, const double* moments, int64_t row, int64_t k) {
    double s = h.bias.empty() ? 0 : static_cast<double>(h.bias[static_cast<size_t>(k)]);
    for (int64_t j = 0; j < h.dim; ++j)
      s += static_cast<double>(h.states[static_cast<size_t>(row * h.dim + j)]) *
           static_cast<double>(h.weight[static_cast<size_t>(k * h.dim + j)]);
    if (!h.carrier.empty()) s += static_cast<double>(h.carrier[static_cast<size_t>(k)]);
    return s - moments[row * 5] - std::log(moments[row * 5 + 1]);
  };
  for (int64_t row = 0; row < p->rows; ++row) {
    double* const to = out + row * 3;
    to[0] = to[1] = to[2] = 0;
    for (int64_t k = 0; k < p->classes; ++k) {
      const double log_p = log_share(a, p->moments, row, k), log_q = log_share(b, q->moments, row, k);
      to[0] = std::max(to[0], std::abs(std::exp(log_p) - std::exp(log_q)));
      if (std::exp(log_p) >= visible) to[1] = std::max(to[1], std::abs(log_p - log_q));
      to[2] += std::exp(log_p) * (log_p - log_q);
    }
  }
  return 0;
}

struct selfnorm_energy {
  EnergyReference reference;
  selfnorm_energy_plan plan;
};

int selfnorm_energy_open(selfnorm_cuda_context*, const selfnorm_energy_plan* plan, selfnorm_energy** out) {
  *out = new selfnorm_energy{EnergyReference(*plan), *plan};
  return 0;
}
void selfnorm_energy_close(selfnorm_energy* energy) { delete energy; }
int64_t selfnorm_energy_parameters(const selfnorm_energy_plan* plan) {
  return EnergyLayout(*plan).parameters;
}
int selfnorm_energy_put(selfnorm_energy* energy, const float* theta, const float* mean, const float* square,
                        const float* remembered, const selfnorm_energy_state* state) {
  EnergyReference& r = energy->reference;
  if (theta != nullptr) r.theta.assign(theta, theta + r.theta.size());
  if (mean != nullptr) r.mean.assign(mean, mean + r.mean.size());
  if (square != nullptr) r.square.assign(square, square + r.square.size());
  if (remembered != nullptr) r.remembered.assign(remembered, remembered + r.remembered.size());
  if (state != nullptr) r.state = *state;
  return 0;
}
int selfnorm_energy_get(selfnorm_energy* energy, float* theta, float* mean, float* square, float* remembered,
                        selfnorm_energy_state* state) {
  const EnergyReference& r = energy->reference;
  const auto give = [](float* to, const std::vector<float>& from) {
    if (to != nullptr) std::memcpy(to, from.data(), from.size() * sizeof(float));
  };
  give(theta, r.theta);
  give(mean, r.mean);
  give(square, r.square);
  give(remembered, r.remembered);
  if (state != nullptr) *state = r.state;
  return 0;
}
int selfnorm_energy_run(selfnorm_energy* energy, const selfnorm_energy_run_of* run) {
  *run->taken = energy->reference.run(*run);
  return 0;
}
int selfnorm_energy_scores(selfnorm_energy* energy, const float* points, int64_t count, double* scores) {
  for (int64_t i = 0; i < count; ++i)
    scores[i] = energy->reference.point(points + i * energy->plan.inputs, false, [](double) { return 0.0; });
  return 0;
}

struct selfnorm_regressor {
  RegressorReference reference;
};

int selfnorm_regressor_open(selfnorm_cuda_context* context, const selfnorm_regressor_plan* plan,
                            selfnorm_regressor** out) {
  *out = nullptr;
  if (plan->samples > 1000) {  // where no device would have the room
    context->error = "a row does not fit";
    return 1;
  }
  *out = new selfnorm_regressor{RegressorReference(*plan)};
  return 0;
}
void selfnorm_regressor_close(selfnorm_regressor* regressor) { delete regressor; }
int64_t selfnorm_regressor_parameters(const selfnorm_regressor_plan* plan) {
  return RegressorLayout(*plan).parameters;
}
int selfnorm_regressor_put(selfnorm_regressor* regressor, const float* theta, const float* average,
                           const float* mean, const float* square) {
  RegressorReference& r = regressor->reference;
  const auto take = [](std::vector<float>& to, const float* from) {
    if (from != nullptr) to.assign(from, from + to.size());
  };
  take(r.theta, theta);
  take(r.average, average);
  take(r.mean, mean);
  take(r.square, square);
  return 0;
}
int selfnorm_regressor_get(selfnorm_regressor* regressor, float* theta, float* average, float* mean,
                           float* square) {
  const RegressorReference& r = regressor->reference;
  const auto give = [](float* to, const std::vector<float>& from) {
    if (to != nullptr) std::memcpy(to, from.data(), from.size() * sizeof(float));
  };
  give(theta, r.theta);
  give(average, r.average);
  give(mean, r.mean);
  give(square, r.square);
  return 0;
}
int selfnorm_regressor_run(selfnorm_regressor* regressor, const selfnorm_regressor_run_of* run) {
  *run->taken = regressor->reference.run(*run);
  return 0;
}

}  // extern "C"

// Training of a regressor as the device takes it (gpu/module.h) and on the host, in double, one row after the
// other: what the kernels of regressor_step.cu are compared with, and what the emulated device runs. What is
// decided here is what family/regressor/train decides on the CPU.
#pragma once

#include <span>
#include <vector>

#include "gpu/energy_reference.h"

namespace selfnorm::gpu {

inline constexpr int32_t kMostRegressorLayers = 48;  // of all networks

struct RegressorLayer {
  int32_t in, out, is_activated;
  int32_t weight, bias;  // where W (row-major, out x in) and c are in theta
};

// Layers [first, last) and parameters [begin, end) of one network; the embeddings of its levels, or -1.
struct RegressorNetwork {
  int32_t inputs, first, last, begin, end, embeddings;

  SELFNORM_BOTH bool has(int32_t parameter) const { return parameter >= begin && parameter < end; }
};

struct RegressorLayout {
  RegressorLayer layer[kMostRegressorLayers];
  RegressorNetwork features, tilt_features, mixture, context, tilt, normalizer;
  int32_t output;      // w of the tilt
  int32_t layers = 0;  // of all
  int64_t parameters = 0;

  explicit RegressorLayout(const selfnorm_regressor_plan& p) {
    features = add(p.features, true, p.levels);
    tilt_features = add(p.has_tilt_features != 0 ? p.tilt_features : selfnorm_dense_plan{}, true, p.levels);
    mixture = add(p.mixture, false, 0);
    context = add(p.has_tilt != 0 ? p.context : selfnorm_dense_plan{}, false, 0);
    tilt = add(p.has_tilt != 0 ? p.tilt : selfnorm_dense_plan{}, true, 0);
    output = tilt.end;
    if (p.has_tilt != 0) parameters += layer[tilt.last - 1].out;
    tilt.end = static_cast<int32_t>(parameters);
    normalizer = add(p.has_normalizer != 0 ? p.normalizer : selfnorm_dense_plan{}, false, 0);
  }

  // The width of what a network gives.
  SELFNORM_BOTH int32_t width(const RegressorNetwork& n) const {
    return n.first == n.last ? n.inputs : layer[n.last - 1].out;
  }
  SELFNORM_BOTH bool is_trained(int32_t parameter, bool is_warm) const {
    return !is_warm || features.has(parameter) || mixture.has(parameter);
  }
  SELFNORM_BOTH double rate(const selfnorm_regressor_plan& p, const selfnorm_regressor_at& at,
                            int32_t parameter) const {
    if (is_trained(parameter, true)) return at.rate;
    return normalizer.has(parameter) ? at.late_rate * p.normalizer_rate : at.late_rate;
  }
  // One of the weights that the scales of the mixture have of the features.
  SELFNORM_BOTH bool is_of_scale(const selfnorm_regressor_plan& p, int32_t parameter) const {
    const RegressorLayer& head = layer[mixture.last - 1];
    const int32_t scales = p.components * p.targets;
    return parameter < head.bias && parameter >= head.weight + (head.out - scales) * head.in;
  }

 private:
  RegressorNetwork add(const selfnorm_dense_plan& p, bool activates_output, int32_t levels) {
    RegressorNetwork out = {p.inputs, layers, layers + p.layers, static_cast<int32_t>(parameters), 0, -1};
    for (int32_t l = 0, in = p.inputs; l < p.layers; in = p.widths[l++]) {
      const auto weight = static_cast<int32_t>(parameters);
      layer[layers++] = {in, p.widths[l], l + 1 < p.layers || activates_output, weight,
                         weight + in * p.widths[l]};
      parameters += int64_t{in + 1} * p.widths[l];
    }
    if (levels > 0 && p.layers > 0) {
      out.embeddings = static_cast<int32_t>(parameters);
      parameters += int64_t{levels} * p.widths[0];
    }
    out.end = static_cast<int32_t>(parameters);
    return out;
  }
};

// What the rows of a step add up to; over its rows it is the record.
struct RegressorSums {
  double loss, log_ratio, effective, b;

  SELFNORM_BOTH void add(const RegressorSums& other) {
    loss += other.loss, log_ratio += other.log_ratio, effective += other.effective, b += other.b;
  }
};

// s = least + softplus(raw), and ds / draw, both times the spread.
struct MixtureScale {
  double value, slope;
};
SELFNORM_BOTH MixtureScale mixture_scale(const selfnorm_regressor_plan& p, double raw) {
  const double e = exp(-fabs(raw));
  return {p.spread * (p.least_scale + (raw > 0 ? raw : 0) + log1p(e)),
          p.spread * (raw < 0 ? e : 1) / (1 + e)};
}

// log of the normal density.
SELFNORM_BOTH double log_normal(double y, double mean, double scale) {
  const double tau = (y - mean) / scale;
  return -0.5 * tau * tau - log(scale) - 0.9189385332046727;
}

// log((1 - w) e^log_q + w e^log_g).
SELFNORM_BOTH double broadened_by(double w, double log_q, double log_g) {
  if (w == 0) return log_q;
  const double a = log_q + log1p(-w), b = log_g + log(w), most = a > b ? a : b;
  return most + log1p(exp((a > b ? b : a) - most));
}

// The move of a step: the factor of its gradient, and what is known of it; nothing moves after an event.
SELFNORM_BOTH double regressor_move(const selfnorm_regressor_plan& plan, const RegressorSums& sums,
                                    double square_norm, const selfnorm_regressor_at& at,
                                    selfnorm_regressor_record& record) {
  const double rows = at.rows;
  record.norm = sqrt(square_norm);
  record.loss = sums.loss / rows;
  record.log_ratio = sums.log_ratio / rows;
  record.effective = sums.effective / rows;
  record.b = sums.b / rows;
  const bool is_finite = isfinite(record.loss) && isfinite(square_norm);
  record.event = is_finite ? SELFNORM_STEP_MOVED : SELFNORM_STEP_DIVERGED;
  return record.norm > plan.clip ? plan.clip / record.norm : 1;
}

SELFNORM_BOTH float average_decay(const selfnorm_regressor_plan& plan, int64_t step) {
  const double t = static_cast<double>(step), rising = (1 + t) / (10 + t);
  return static_cast<float>(rising < plan.average ? rising : plan.average);
}

class RegressorReference {
 public:
  explicit RegressorReference(const selfnorm_regressor_plan& plan);

  std::vector<float> theta, average, mean, square;
  std::vector<double> gradient;  // of the last step

  // How many steps were taken.
  int32_t run(const selfnorm_regressor_run_of& steps);

 private:
  struct Row {
    const float *numbers, *target;
    const uint32_t* levels;
    const double *choice, *normal;
    double weight, share;  // share: 1 / rows
    bool is_warm;
  };
  struct Trace {
    std::vector<std::vector<double>> a, slope;  // of every layer; a[0] is the input
  };
  struct Mixture;
  struct Objective;

  RegressorSums take(const Row& row);
  Trace forward(const RegressorNetwork& network, std::vector<double> x, const uint32_t* levels,
                const std::vector<double>& start) const;
  // Adds to the gradient; gives the derivatives of the input and, in `first`, of z_1.
  std::vector<double> backward(const RegressorNetwork& network, const Trace& trace, std::vector<double> delta,
                               const uint32_t* levels, std::vector<double>* first = nullptr);
  Objective compare(const std::vector<double>& score, const std::vector<double>& log_q, double b) const;
  double broad(const double* y) const;  // log g

  selfnorm_regressor_plan plan_;
  RegressorLayout layout_;
};

}  // namespace selfnorm::gpu

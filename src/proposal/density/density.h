// A normalised distribution over points that can be sampled and evaluated: what noise is drawn from, what an
// energy tilts, and what simple densities are compared with. Everything in log space.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/points/points.h"
#include "math/random.h"

namespace selfnorm {

// What makes a density again: its kind and its numbers, row-major.
struct DensityRecord {
  std::string kind;
  std::map<std::string, std::vector<double>> values;
};

class Density {
 public:
  virtual ~Density() = default;

  virtual uint32_t dimension() const = 0;
  virtual Support support() const = 0;

  // Fills `rows` with rows.size() / dimension() independent draws.
  virtual void sample(RandomStream& random, std::span<float> rows) const = 0;
  // log q(x_i); -inf outside the support, never NaN for finite x.
  virtual void log_prob(const Points& x, std::span<double> out) const = 0;

  // Real supports only, others throw Bug. log q(x_i) and its gradient with respect to x_i, row-major n x d.
  virtual void log_prob_gradient(const Points& x, std::span<double> log_q, std::span<double> gradient) const;
  // The same of first_i = v_i . grad log q(x_i), second_i = v_i' Hessian log q(x_i) v_i.
  virtual void directional(const Points& x, const Points& v, std::span<double> first,
                           std::span<double> second) const;

  // Standard error of log q where draws found its normalizer; 0: it is exact.
  virtual double log_error() const { return 0; }

  virtual DensityRecord record() const = 0;
};

// One whose unconstrained parameters (log-scales, logits, means) can be learned while an energy is.
class LearnableDensity : public Density {
 public:
  virtual std::vector<double> parameters() const = 0;
  virtual void set_parameters(std::span<const double> values) = 0;
  // gradient += sum_i weight_i d log q(x_i) / d parameters.
  virtual void add_gradient(const Points& x, std::span<const double> weight,
                            std::span<double> gradient) const = 0;
};

// The same draws for any number of threads: rows in fixed blocks, block i from stream i of `seed`. Fills
// log_q too unless it is empty.
void sample_density(const Density& q, uint64_t seed, std::span<float> rows, std::span<double> log_q);
// log_prob in parallel.
void density_log_prob(const Density& q, const Points& x, std::span<double> out);

// The numbers of a DensityRecord, checked.

// Throws Error naming the density and the numbers when they are missing, not finite, or not `size` (0: at
// least one).
const std::vector<double>& record_values(const DensityRecord& record, const std::string& name, size_t size);

}  // namespace selfnorm

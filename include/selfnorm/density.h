// Densities p(x) = exp(s(x)) / Z of points in R^d, binary vectors or counts, trained together with b, which
// stands for log Z.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "selfnorm/error.h"
#include "selfnorm/options.h"
#include "selfnorm/progress.h"
#include "selfnorm/rows.h"

namespace selfnorm {

// Nats a row in the units of the data, with the best log Z that applies and its error.
struct DensityQuality {
  uint64_t rows = 0;
  bool is_trusted = true;  // false: `distrust` says why nll is no likelihood
  std::string distrust;
  double nll = 0;                    // with log_z
  double nll_low = 0, nll_high = 0;  // with the ends of its interval
  double nll_b = 0;                  // with b
  double b = 0, log_z = 0;
  std::string method;  // of log_z: quadrature, enumeration, importance or annealed
};

class EnergyDensity {
 public:
  // Holds out a tenth of the rows (of 20 and more) to keep the best step, and sets b to log Z where that can
  // be trusted. Throws Error for data or options that cannot be used, and when `observer` asked to stop.
  static EnergyDensity train(const Rows& x, const Options& options = {});
  static EnergyDensity train(const Rows& x, const Options& options, TrainObserver& observer);
  // A file of `selfnorm train density`, of save(), or the run directory it is in.
  static EnergyDensity load(const std::string& path);
  void save(const std::string& path) const;

  uint32_t columns() const;
  // log p(x) with b; -inf outside the support.
  std::vector<double> log_densities(const Rows& x) const;
  DensityQuality evaluate(const Rows& x) const;
  // n rows, row-major.
  std::vector<float> sample(uint64_t n, uint64_t seed = 0) const;

 private:
  struct Content;
  explicit EnergyDensity(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

}  // namespace selfnorm

// Densities p(x) = exp(s(x)) / Z of points in R^d, binary vectors or counts, trained together with b, which
// stands for log Z.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "selfnorm/error.h"
#include "selfnorm/options.h"
#include "selfnorm/rows.h"
#include "selfnorm/run.h"

namespace selfnorm {

// Nats a row in the units of the data, with the best log Z that applies and its error.
struct DensityQuality {
  uint64_t rows = 0;
  bool is_trusted = true;  // false: `distrust` says why nll is no likelihood
  std::string distrust;
  double nll = 0;                    // with log_z
  double nll_low = 0, nll_high = 0;  // with the ends of its interval
  double nll_b = 0;                  // with b
  double nll_error = 0;              // standard error of its mean over rows
  double b = 0, log_z = 0;
  double log_z_low = 0, log_z_high = 0;  // its interval
  std::string method;                    // of log_z: quadrature, enumeration, importance or annealed
};

// log Z in the units of the model, where b stands for it, by the best method that applies.
struct DensityNormalizer {
  double b = 0, log_z = 0;
  double low = 0, high = 0;      // the interval of log_z
  std::string method, distrust;  // why it is not to be trusted; empty: it is
};

class EnergyDensity {
 public:
  // Holds out a tenth of the rows (of 20 and more) to keep the best step, and sets b to log Z where that can
  // be trusted. Throws Error for data or options that cannot be used, Stopped when the observer asked to
  // stop.
  static EnergyDensity train(const Rows& x, const Options& options = {}, const Run& run = {});
  // A file of `selfnorm train density`, of save(), or the run directory it is in.
  static EnergyDensity load(const std::string& path);
  void save(const std::string& path) const;

  uint32_t columns() const;
  uint64_t parameters() const;  // of the energy and of what it tilts; b follows from them
  // log p(x) with b; -inf outside the support.
  std::vector<double> log_densities(const Rows& x) const;
  DensityNormalizer normalizer() const;
  DensityQuality evaluate(const Rows& x) const;
  // Rows of columns() numbers, row-major; options are number, seed, method, ... (option_list("sample")). What
  // makes them other than draws of the model is appended to `doubt`, if there is one.
  std::vector<float> sample(const Options& options, std::string* doubt = nullptr) const;
  std::vector<float> sample(uint64_t n, uint64_t seed = 0) const {
    return sample({{"number", n}, {"seed", seed}});
  }

 private:
  struct Content;
  explicit EnergyDensity(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

}  // namespace selfnorm

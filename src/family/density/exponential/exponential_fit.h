// The deterministic fit of an exponential family by SNL in (eta, b) with fixed nodes x_j of weights w_j
// (nodes of a quadrature, all points with w = 1, or M samples of q with w = 1 / (M q)):
//     maximise  eta . mean T + mean log h - b - r + 1,   r = exp(-b) Z_hat,   Z_hat = sum_j w_j exp s(x_j).
// With u_j = (T(x_j), -1) and p_j = w_j exp(s(x_j) - b): gradient (mean T, -1) - sum_j p_j u_j,
// Hessian -sum_j p_j u_j u_j', negative semi-definite everywhere: jointly concave in (eta, b). At the optimum
// b = log Z_hat and sum_j p_j T(x_j) = mean T: eta is the maximum-likelihood estimate, b its log-normalizer.
// Newton's method, b maximised exactly (b = log Z_hat) after each step; steps are halved until they improve
// and eta stays in the family's domain.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/energy/exponential_family.h"
#include "normalizer/quadrature/quadrature.h"

namespace selfnorm {

// Means of T(x) and log h(x) over rows that come in blocks: all that the likelihood of an exponential family,
// eta . mean T + mean log h - log Z(eta), knows of the data.
struct StatisticMeans {
  std::vector<double> t;
  double log_carrier = 0;
};

class FamilyMean {
 public:
  explicit FamilyMean(const ExponentialFamily& family)
      : family_(family), sum_{std::vector<double>(family.count()), 0}, t_(family.count()) {}

  // Throws Error naming the row when it is outside the support or is 0 where its logarithm is taken; rows
  // have the numbers given, or count on from the first one added.
  void add(const Points& x, std::span<const uint64_t> numbers = {});

  uint64_t rows() const { return rows_; }
  StatisticMeans means() const;

 private:
  const ExponentialFamily& family_;
  StatisticMeans sum_;
  std::vector<double> t_;
  uint64_t rows_ = 0;
};

struct FitNodes {
  Points x;
  std::span<const double> log_weight;
};

// The SNL of a family on fixed nodes as a function of (eta, b).
class FamilyLikelihood {
 public:
  // Throws Error when there are no nodes.
  FamilyLikelihood(const ExponentialFamily& family, StatisticMeans data, const FitNodes& nodes);

  size_t count() const { return mean_.t.size(); }
  std::span<const double> mean() const { return mean_.t; }  // of T over the data

  double log_z(std::span<const double> eta) const;  // log Z_hat
  double value(std::span<const double> eta, double b) const;

  struct Derivatives {
    double value = 0;
    std::vector<double> gradient;  // of (eta, b)
    std::vector<double> hessian;   // row-major
  };
  Derivatives derivatives(std::span<const double> eta, double b) const;

 private:
  double score(size_t node, std::span<const double> eta) const;

  StatisticMeans mean_;
  std::vector<double> t_, level_;  // T(x_j), row-major; log h(x_j) + log w_j
};

struct ExponentialFitOptions {
  uint64_t most_iterations = 100;
  double tolerance = 1e-9;  // of gradient_size

  void validate() const;  // throws Error naming the option, the value and the range
};

struct ExponentialFit {
  std::vector<double> eta;
  double b = 0;
  double value = 0;  // SNL per row: at the optimum the log-likelihood
  double gradient_size =
      0;  // largest entry, over the root mean square of its statistic where that is above 1
  uint64_t iterations = 0;
  bool is_converged = false;
  std::string reason;  // why it stopped
};

// Starts at the family's eta.
ExponentialFit fit_exponential(const ExponentialFamily& family, const FamilyLikelihood& likelihood,
                               const ExponentialFitOptions& options = {});

// Where the integral of an exponential family over a real support of 1 or 2 dimensions is summed while it is
// fitted: quadrature nodes over the part of the support where data like those seen can matter.
//     no end, or two   x = u          from min - w sd to max + w sd, cut at the ends
//     lower end a      x = a + e^u    from w sd(log) below the smallest, or e^-depth of the mean distance
//     where
//                                     that is less, to max + w sd: a power of x - a is smooth in u
//     upper end b      x = b - e^u    likewise

struct FamilyReach {
  double width = 12;  // w
  double depth = 0;
};

// The extent of a column: of x, and of log of the distance from the end of a half line (rows at the end
// itself do not count).
class FamilyAxis {
 public:
  FamilyAxis(double lower, double upper) : lower_(lower), upper_(upper) {}

  void add(double x);
  double mean() const { return x_.mean; }
  double scale() const;  // standard deviation; of a column that does not vary, a part of its size

  struct Segment {
    double lower = 0, upper = 0;
  };
  Segment segment(const FamilyReach& reach) const;  // of u
  bool is_half_line() const;
  double x(double u) const;
  double log_slope(double u) const { return is_half_line() ? u : 0; }  // log |dx / du|

 private:
  struct Extent {
    double count = 0, mean = 0, square = 0, least = 0, most = 0;
    void add(double v);
    double deviation() const;
  };
  double distance(double x) const;

  double lower_, upper_;
  Extent x_, log_;
};

// One axis for every column of the points.
std::vector<FamilyAxis> family_axes(const Support& support, uint32_t dimension);
QuadratureNodes family_nodes(std::span<const FamilyAxis> axes, const FamilyReach& reach, uint32_t cells);

}  // namespace selfnorm

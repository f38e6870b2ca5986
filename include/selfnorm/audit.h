// What an audit says of the errors e(x) = A(x) - c [- b(x)] of log-probabilities that a model gives without
// normalising, and the certificate: with `confidence`, all but a share `rho` of inputs have |e| <= eps,
// provided that the audited inputs are independent draws that had no part in the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace selfnorm {

struct AuditReport {
  std::string kind;  // raw or amortised: what was audited
  uint64_t rows = 0;
  double mean = 0, deviation = 0, rms = 0, least = 0, largest = 0;  // of e
  std::vector<std::pair<double, double>> quantiles;                 // (level, e)
  double eps = 0, rho = 0, confidence = 0;                          // asked for
  uint64_t exceed = 0;                                              // inputs with |e| > eps
  double rho_bound = 1;                // the smallest rho that can be certified at eps
  std::optional<double> smallest_eps;  // the smallest eps at rho; none: there are too few inputs
  bool certified = false;
  std::optional<double> variance,
      lossless_variance;  // Var A, and what is left of it after the lossless gauge
  std::optional<double> nll_exact, nll_given, accuracy;  // of labelled rows; nll_given: of what was audited
};

}  // namespace selfnorm

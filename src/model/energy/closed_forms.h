// A(eta) = log Z and its gradient E T where they are known (model/energy/exponential_family.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/points/points.h"
#include "model/energy/statistic.h"

namespace selfnorm {

struct ClosedForm {
  double log_z = 0;
  std::vector<double> mean;
};

// With h the coefficients of x: A = d/2 log 2 pi - 1/2 log det P + 1/2 h'P^-1 h.
ClosedForm gaussian_form(std::span<const Statistic> statistics, std::span<const double> eta,
                         uint32_t dimension);

// A product of normals cut off at a_j, b_j: the normal's A plus log(Phi(beta) - Phi(alpha)). None when P is
// not diagonal and positive, or a box so far in a tail that Phi underflows.
std::optional<ClosedForm> truncated_gaussian_form(std::span<const Statistic> statistics,
                                                  std::span<const double> eta, const Support& box);

// exponential, gamma, von-mises, poisson, bernoulli: sums over coordinates of
//     exponential  -log(-eta)              gamma  log Gamma(eta_1 + 1) - (eta_1 + 1) log(-eta_2)
//     von-mises    log 2 pi I_0(|eta|)     poisson  exp eta         bernoulli  log(1 + exp eta)
ClosedForm product_form(const std::string& family, std::span<const double> eta, uint32_t dimension);

}  // namespace selfnorm

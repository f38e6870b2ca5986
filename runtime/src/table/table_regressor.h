// p(y|x) of one target as src/model/regressor/regressor.h defines it: u = (y - mean) / scale,
//     s_m(x, u) = f_m(x, u) / T + log((1 - w) q(u|x) + w g(u)),   log p = log mean_m exp(s_m - A_m) - log
//     scale.
// A_m, the mean and quantiles are sums over Gauss-Legendre panels whose ends lie about the components.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "selfnorm_table.h"
#include "table_network.h"

namespace selfnorm::runtime {

// Takes parts of a caller's memory.
class WorkMemory {
 public:
  WorkMemory(void* memory, size_t bytes);
  double* take(size_t doubles);  // null when there is no more

 private:
  double* next_;
  size_t left_;
};

class TableRegressor {
 public:
  static constexpr size_t kNodes = 12, kEnds = 9;  // of a panel, and of a component

  TableRegressor() = default;
  TableRegressor(const LayoutReader& reader, const std::vector<uint32_t>& levels, uint32_t numbers);

  size_t workspace() const;  // doubles
  // x encoded: standardised numbers, and levels.
  struct Input {
    const double* number;
    const uint32_t* level;
  };
  double log_density(const Input& x, double y, bool is_exact, WorkMemory& memory) const;
  void predict(const Input& x, std::span<const double> levels, WorkMemory& memory, selfnorm_prediction& out,
               double* quantiles) const;

 private:
  struct Member {
    TableNetwork features, tilt_features, mixture_head, context, tilt, normalizer;
    double temperature = 1;
  };
  // Of one x: what a member says, and memory for its networks.
  struct State {
    double *log_weight, *mean, *scale, *log_mass;  // of the components
    double* context;
    double b;
  };
  struct Panels {
    double *end, *density, *log_normalizer;  // ends; densities at the nodes, of the mean over members; A_m
    size_t count;
  };

  double* prepare(const Input& x, WorkMemory& memory, State* states) const;
  double score(size_t m, const State& state, double u, double* scratch) const;
  Panels panels(const State* states, double* scratch, WorkMemory& memory) const;
  double log_cut(double mean, double scale) const;  // log of the mass inside the support

  std::vector<Member> members_;
  uint32_t components_ = 0;
  double least_scale_ = 0, broad_mean_ = 0, broad_scale_ = 1, lower_ = 0, upper_ = 0, broad_log_mass_ = 0;
  double base_weight_ = 0, target_mean_ = 0, target_scale_ = 1;
  size_t scratch_ = 0, widest_ = 0;
  std::array<double, kNodes> node_{}, weight_{};
};

}  // namespace selfnorm::runtime

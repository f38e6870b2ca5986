// The networks of regressors and densities, read in place: z_1 = W_1 a_0 + c_1 + context + sum_k
// E_k[level_k], a_l = f(z_l), with residual layers a_l = a_{l-1} + f(z_l), the last layer activated or not,
// a_0 = x or (x, cos Bx, sin Bx); the network gives a_L, or the score w . a_L. Sums are in double.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "selfnorm/runtime/layout_reader.h"

namespace selfnorm::runtime {

inline constexpr double kHalfLogTau = 0.91893853320467274178;  // log(2 pi) / 2

class TableNetwork {
 public:
  TableNetwork() = default;
  // By the name of its metadata ("energy", "member0.features"): of kind dense, linear, mlp or zero. Throws
  // FormatError.
  TableNetwork(const LayoutReader& reader, const std::string& name);

  bool exists() const { return exists_; }
  uint32_t inputs() const { return inputs_; }
  const std::vector<uint32_t>& levels() const { return levels_; }
  uint32_t width() const { return width_; }  // of what run() writes
  uint32_t first_width() const;              // of a context
  bool has_score() const { return !output_.empty() || is_zero_; }
  size_t scratch() const { return 3 * size_t{widest_}; }  // doubles

  // out[0 .. width()) <- the network of x, its levels, and a context (null: none).
  void run(const double* x, const uint32_t* level, const double* context, double* scratch, double* out) const;
  double score(const double* x, const double* context, double* scratch) const;

 private:
  enum class Function { silu, relu, tanh, softplus, gelu };
  struct Layer {
    uint32_t in, out;
    bool is_activated, is_residual;
    std::span<const float> weight, bias;
    double factor;  // 1 over the largest singular value, with spectral_norm
  };

  void read_layers(const LayoutReader& reader, const std::string& name, const std::vector<uint32_t>& widths,
                   bool activates_output);
  double activated(double z) const;
  const double* last_layer(const double* x, const uint32_t* level, const double* context,
                           double* scratch) const;

  bool exists_ = false, is_linear_ = false, is_zero_ = false, is_residual_ = false, is_spectral_ = false;
  uint32_t inputs_ = 0, width_ = 0, widest_ = 0, fourier_count_ = 0;
  Function function_ = Function::silu;
  std::vector<uint32_t> levels_;
  std::vector<Layer> layers_;
  std::span<const float> fourier_, output_;
  std::vector<std::span<const float>> embedding_;  // linear: the shares of level 0
};

}  // namespace selfnorm::runtime

#include "model/parameters.h"

#include "math/parallel.h"
#include "selfnorm/error.h"

namespace selfnorm {

template <class Real>
void store_parameters(std::span<const Real> theta, const Scaling& scaling, ModelFile& model) {
  const size_t d = model.features;
  const size_t k = model.family == Family::Joint ? 1 : model.classes;
  SELFNORM_CHECK(theta.size() == (model.family == Family::Joint ? d : (d + 1) * k));
  model.weight.resize(k * d);
  parallel_ranges(k, 64, [&](size_t begin, size_t end) {
    for (size_t j = 0; j < d; ++j) {
      const double factor = scaling.active() ? scaling.inverse[j] : 1;
      for (size_t c = begin; c < end; ++c) {
        model.weight[c * d + j] = static_cast<float>(static_cast<double>(theta[j * k + c]) * factor);
      }
    }
  });
  if (model.family == Family::Joint) return;
  model.bias.resize(k);
  for (size_t c = 0; c < k; ++c) {
    double bias = static_cast<double>(theta[d * k + c]);
    for (size_t j = 0; j < d && scaling.active(); ++j) {
      bias -= static_cast<double>(theta[j * k + c]) * scaling.inverse[j] * scaling.mean[j];
    }
    model.bias[c] = static_cast<float>(bias);
  }
}

template <class Real>
std::vector<Real> parameters_of(const ModelFile& model) {
  const size_t d = model.features;
  if (model.family == Family::Joint) return {model.weight.begin(), model.weight.end()};
  const size_t k = model.classes;
  std::vector<Real> theta((d + 1) * k);
  parallel_ranges(d, 64, [&](size_t begin, size_t end) {
    for (size_t c = 0; c < k; ++c) {
      for (size_t j = begin; j < end; ++j) theta[j * k + c] = static_cast<Real>(model.weight[c * d + j]);
    }
  });
  for (size_t c = 0; c < k; ++c) theta[d * k + c] = static_cast<Real>(model.bias[c]);
  return theta;
}

template void store_parameters(std::span<const float>, const Scaling&, ModelFile&);
template void store_parameters(std::span<const double>, const Scaling&, ModelFile&);
template std::vector<float> parameters_of(const ModelFile&);
template std::vector<double> parameters_of(const ModelFile&);

}  // namespace selfnorm

#include "normalizer/problem.h"

#include "normalizer/device_linear.h"
#include "normalizer/enumeration.h"
#include "normalizer/group_enumeration.h"

namespace selfnorm {

ParameterShape parameter_shape(bool joint, uint32_t features, uint32_t classes) {
  if (joint) return {.rows = features, .width = 1, .penalised_rows = features};
  return {.rows = size_t{features} + 1, .width = classes, .penalised_rows = features};
}

template <class Real>
std::unique_ptr<ExactPass<Real>> make_exact_pass(const Dataset& data, uint32_t features, uint32_t classes,
                                                 std::span<const float> log_carrier, const FeatureMap* map) {
  if (data.is_joint())
    return std::make_unique<GroupEnumeration<Real>>(Joint<Real>(data.features, features), data);
  if constexpr (std::is_same_v<Real, float>)
    if (map == nullptr)
      if (auto there = make_device_pass(data, features, classes, log_carrier)) return there;
  return std::make_unique<Enumeration<Real>>(
      Multiclass<Real>(data.features, classes, features, log_carrier, map), data.target);
}

template std::unique_ptr<ExactPass<float>> make_exact_pass(const Dataset&, uint32_t, uint32_t,
                                                           std::span<const float>, const FeatureMap*);
template std::unique_ptr<ExactPass<double>> make_exact_pass(const Dataset&, uint32_t, uint32_t,
                                                            std::span<const float>, const FeatureMap*);

}  // namespace selfnorm

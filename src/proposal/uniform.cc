#include "selfnorm/proposal/uniform.h"

#include <cmath>

namespace selfnorm {

uint32_t Uniform::sample(RandomStream& random) const { return static_cast<uint32_t>(random.below(classes_)); }

double Uniform::log_prob(uint32_t /*k*/) const { return -std::log(static_cast<double>(classes_)); }

}  // namespace selfnorm

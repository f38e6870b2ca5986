#include "selfnorm/model/joint.h"

#include "selfnorm/model/entries.h"

namespace selfnorm {
template <class Real>
double Joint<Real>::score(std::span<const Real> theta, uint64_t row) const {
  double s = 0;
  for_each_entry(x_, row,
                 [&](uint32_t j, float v) { s += static_cast<double>(v) * static_cast<double>(theta[j]); });
  return s;
}

template <class Real>
void Joint<Real>::backward(uint64_t row, double d_score, Real* gradient) const {
  for_each_entry(x_, row, [&](uint32_t j, float v) {
    gradient[j] += static_cast<Real>(d_score * static_cast<double>(v));
  });
}

template class Joint<float>;
template class Joint<double>;

}  // namespace selfnorm

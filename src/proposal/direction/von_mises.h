// Von Mises distributions on the circle: exp(kappa cos(x - mu)) / (2 pi I_0(kappa)); von Mises-Fisher ones on
// the sphere: kappa exp(kappa mu . u) / (4 pi sinh kappa).
#pragma once

#include "math/random.h"

namespace selfnorm {

// x in [-pi, pi), back into it.
double wrapped_angle(double x);

// In [-pi, pi) (Best & Fisher 1979); kappa >= 0.
double von_mises_draw(RandomStream& random, double mu, double kappa);

// kappa with I_1/I_0(kappa) = r, 0 <= r < 1, by Newton's method; at most `most`.
double von_mises_concentration(double r, double most);

// log(4 pi sinh(kappa) / kappa), kappa >= 0, and the mean of mu . u, coth(kappa) - 1 / kappa.
double fisher_log_normalizer(double kappa);
double fisher_mean(double kappa);
// kappa with that mean, 0 <= r < 1; at most `most`.
double fisher_concentration(double r, double most);

}  // namespace selfnorm

// A normal distribution cut to an interval, N(y; m, s) [lower <= y <= upper] / mass, without cancellation
// however far m is outside. It is written from its anchor c, the point of the interval nearest to m: with
//     tau = (y - c) / s,   tilt = (c - m) / s,
//     log density = -tau (tau / 2 + tilt) - log_volume,   log_volume = log(s M),
//     M = integral of exp(-tau (tau / 2 + tilt)) over the interval.
// Derivatives, with E over the distribution itself:
//     d/dm = (tau - E tau) / s
//     d/ds = (tau^2 - E tau^2 + 2 tilt (tau - E tau)) / s
//     d/dy = -(tau + tilt) / s,   d2/dy2 = -1 / s^2
// Without bounds c = m, tilt = 0, M = sqrt(2 pi), E tau = 0, E tau^2 = 1.
#pragma once

#include "math/random.h"

namespace selfnorm {

struct TruncatedNormal {
  double anchor = 0, scale = 1, tilt = 0, log_volume = 0;
  double first = 0, second = 1;  // E tau, E tau^2
  double from = 0, to = 0;       // the interval of tau; may be infinite

  // scale > 0, lower < upper; all but the bounds finite.
  static TruncatedNormal of(double mean, double scale, double lower, double upper);

  double log_density(double y) const;  // for y in the interval
  // Exact in the tails: rejection from the normal while it has a fifth of its mass inside, from a uniform or
  // a cut exponential distribution below that (Robert 1995).
  double draw(RandomStream& random) const;
};

}  // namespace selfnorm

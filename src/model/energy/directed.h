// An energy of what a DirectionMap makes of points (data/points/direction_map.h): s(x) = f(phi(x)), so that
// angles have no ends and the sphere no poles. With J the derivatives of phi:
//     ds/dx = J' df/dphi,     along v: s' = phi' . df,   s'' = phi'' . df + phi'' along phi' of f.
#pragma once

#include "data/points/direction_map.h"
#include "model/energy/energy.h"

namespace selfnorm {

// `inner` is over map.features() real numbers.
std::unique_ptr<Energy> make_directed(std::unique_ptr<Energy> inner, const DirectionMap& map);

// What its record's settings hold beside those of the inner energy; null: none.
std::unique_ptr<Energy> make_directed(const EnergyRecord& record, EmbeddedCode code);

}  // namespace selfnorm

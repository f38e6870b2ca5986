// Energies by name.
//   mlp[:widths]      a network (model/energy/mlp.h), "mlp:128,128"
//   FILE.pt           any TorchScript module that maps n x d to n or n x 1 scores -E (needs libtorch)
//   gaussian, truncated-gaussian, exponential, gamma, von-mises, poisson, bernoulli, ising,
//   family:names      exponential families (model/energy/exponential_family.h), "family:x,x2,x4"
//   rbm[:hidden]      restricted Boltzmann machine, 64 hidden units
//   autoregressive[:widths]  of every column given those before it (model/energy/autoregressive_energy.h)
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/points/direction_map.h"
#include "model/energy/energy.h"
#include "model/energy/mlp.h"

namespace selfnorm {

std::vector<std::string> energy_names();              // without their arguments; a path is no name
bool is_exponential_family(const std::string& word);  // whether make_energy gives an ExponentialFamily
// Throws Error for a word that is none of them or an argument out of range.
void check_energy_word(const std::string& word);

struct EnergyPlan {
  std::string word = "mlp:128,128";
  uint32_t dimension = 1;
  MlpOptions mlp;                    // everything of an mlp but the widths, which are in the word
  std::vector<double> lower, upper;  // truncated-gaussian, family: the box
  Support space = {};  // mlp: what wraps in it is seen as cos and sin, or as a point of the sphere; levels of
                       // a mixed table as indicators
  uint64_t seed = 0;   // of the starting point
  EmbeddedCode code = EmbeddedCode::refuse;
};

std::unique_ptr<Energy> make_energy(const EnergyPlan& plan);
// Throws Error when it is damaged.
std::unique_ptr<Energy> make_energy(const EnergyRecord& record, EmbeddedCode code = EmbeddedCode::refuse);

// s(x) = 0: tilting a base with it gives the base. What a density fitted without an energy is stored as.
std::unique_ptr<Energy> make_zero_energy(uint32_t dimension);

// The restricted Boltzmann machine with its hidden units summed out: binary v of dimension d, H hidden units,
//     s(v) = a . v + sum_h softplus(c_h + w_h . v),   ds/da = v,  ds/dc_h = sigma(c_h + w_h . v),
//     ds/dw_h = sigma(c_h + w_h . v) v.
// Not an exponential family in theta = (a, c, W row-major H x d), but exact where the points can be
// enumerated. W starts N(0, 0.01^2) (Hinton 2012, A practical guide), a and c at 0.
struct RbmOptions {
  uint32_t dimension = 1, hidden = 64;  // each 1 .. 65536
  uint64_t seed = 0;
};

std::unique_ptr<Energy> make_rbm(const RbmOptions& options);   // throws Error naming what is out of range
std::unique_ptr<Energy> make_rbm(const EnergyRecord& record);  // throws Error when it is damaged

// An energy of what a DirectionMap makes of points (data/points/direction_map.h): s(x) = f(phi(x)), so that
// angles have no ends and the sphere no poles. With J the derivatives of phi:
//     ds/dx = J' df/dphi,     along v: s' = phi' . df,   s'' = phi'' . df + phi'' along phi' of f.
// `inner` is over map.features() real numbers.
std::unique_ptr<Energy> make_directed(std::unique_ptr<Energy> inner, const DirectionMap& map);

// What its record's settings hold beside those of the inner energy; null: none.
std::unique_ptr<Energy> make_directed(const EnergyRecord& record, EmbeddedCode code);

}  // namespace selfnorm

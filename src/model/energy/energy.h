// An unnormalised log-density s(x) = -E(x) over points: p(x) = exp(s(x)) / Z. Points are float32 rows, scores
// are doubles. Implementations are parallel inside; the bits do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/points/points.h"

namespace selfnorm {

struct EnergyTensor {
  std::string name;
  std::vector<uint64_t> shape;
  std::vector<float> values;
};

// What makes an energy again.
struct EnergyRecord {
  std::string kind;                   // mlp, torchscript, gaussian, ising, ...
  std::string settings = "{}";        // JSON, by kind
  std::vector<EnergyTensor> tensors;  // parameters and constants
  std::string module;                 // torchscript: the bytes of the module
};

// One minibatch forward and back, with the memory in between; reused from step to step.
class EnergyPass {
 public:
  virtual ~EnergyPass() = default;
  // s(x_i). The result, and `x`, have to live until backward or the next forward.
  virtual std::span<const double> forward(const Points& x) = 0;
  // gradient += sum_i d_i ds(x_i)/dtheta for the x of the last forward.
  virtual void backward(std::span<const double> d, std::span<float> gradient) = 0;
};

class Energy {
 public:
  virtual ~Energy() = default;

  virtual uint32_t dimension() const = 0;
  virtual Support support() const { return Support::reals(); }

  // theta. After writing to it, parameters_changed() has to be called.
  virtual std::span<float> parameters() = 0;
  virtual std::span<const float> parameters() const = 0;
  virtual void parameters_changed() {}

  virtual std::unique_ptr<EnergyPass> make_pass() const = 0;

  virtual void score(const Points& x, std::span<double> s) const = 0;
  // Real supports: s(x_i) and ds/dx_i, row-major n x d.
  virtual void score_gradient(const Points& x, std::span<double> s, std::span<float> dx) const = 0;

  // Real supports, for score matching: first_i = v_i . ds/dx_i and second_i = v_i' (d2s/dx2) v_i, the first
  // two derivatives of s along v; `second` may be empty.
  virtual void directional(const Points& x, const Points& v, std::span<double> first,
                           std::span<double> second) const = 0;
  // gradient += sum_i d_first_i d first_i/dtheta + d_second_i d second_i/dtheta; `d_second` may be empty.
  virtual void directional_backward(const Points& x, const Points& v, std::span<const double> d_first,
                                    std::span<const double> d_second, std::span<float> gradient) const = 0;

  // Energies over bits with hidden units that are independent given the visible ones, and the other way
  // round: Gibbs sweeps by blocks of rows that move in place, chain i by stream i of the seed. False: not
  // such a one, and nothing has moved.
  virtual bool block_sweeps(uint64_t /*sweeps*/, uint64_t /*seed*/, std::span<float> /*rows*/) const {
    return false;
  }

  virtual EnergyRecord record() const = 0;
};

// Whether data can have a likelihood at all.
// Throws Error naming the first row outside the energy's support, its values and what was expected; row i has
// the number numbers[i], or first + i when there are none.
void require_inside(const Energy& energy, const Points& x, std::span<const uint64_t> numbers,
                    uint64_t first = 0);

// A TorchScript module is a program: to load it is to run it, with the rights of the user. It is the one
// thing in a model file, or beside it, that can execute, so whoever opens a file says what becomes of it.
enum class EmbeddedCode {
  refuse,  // throw an Error that says what the file holds
  seal,    // keep its bytes: it can be described and stored, not evaluated
  run,     // the user agreed (--allow-code)
};

// Throws that Error, whose message starts with `name`, unless the code may run.
void require_consent(EmbeddedCode code, const std::string& name, size_t bytes);

}  // namespace selfnorm

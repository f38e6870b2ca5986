// A network on any number of rows: cut into tiles, and these into parts that have a gradient each. Parallel;
// cut by sizes alone, so bits do not depend on the number of threads, nor on that of processes, which share
// the parts.
#pragma once

#include <span>
#include <vector>

#include "network/tile.h"

namespace selfnorm {

struct RowCut {
  std::vector<uint64_t> tile = {0};  // where tiles begin, in rows, and where the last one ends
  std::vector<size_t> part = {0};    // where parts begin, in tiles, and where the last one ends

  uint64_t begin(size_t p) const { return tile[part[p]]; }
  uint64_t end(size_t p) const { return tile[part[p + 1]]; }
};

// One minibatch forward and back, with the memory in between; reused from step to step. Out: double for the
// scores, one a row; float for a_L, rows x outputs. The network has to outlive it.
template <class Out>
class NetworkPass {
 public:
  explicit NetworkPass(const Network& network) : network_(network) {}

  // Valid until the next forward; the rows have to live until backward.
  std::span<const Out> forward(const NetworkRows& rows);
  // gradient += sum_i d_i^T dout_i/dtheta. Unless it is empty, `other` is overwritten: with the derivatives
  // by the contexts (contexts x width(1)) where there are some, else by x (rows x inputs; of float alone).
  void backward(std::span<const Out> d, std::span<float> gradient, std::span<float> other);

 private:
  const Network& network_;
  NetworkRows rows_;
  RowCut cut_;
  std::vector<Out> out_;
  std::vector<NetworkTile> tiles_;
  std::vector<NetworkGradient> parts_;
  std::vector<NetworkTile::Scratch> scratch_;  // of every part
  std::vector<float> first_;                   // D_1 of every row; empty without categorical inputs
};

// The same as a pass forward, keeping nothing.
template <class Out>
void evaluate(const Network& network, const NetworkRows& rows, std::span<Out> out);

// s(x_i) and ds/dx_i, row-major.
void score_gradient(const Network& network, const NetworkRows& rows, std::span<double> s,
                    std::span<float> dx);

// The first two derivatives of s along v, one row for every x; `second` may be empty.
void directional(const Network& network, const NetworkRows& rows, const Points& v, std::span<double> first,
                 std::span<double> second);
// Of a loss by those two, and by theta and the contexts.
struct DirectionalDerivatives {
  std::span<const double> first, second;  // second may be empty
  std::span<float> gradient;              // += the sum over the rows
  std::span<float> context;               // contexts x width(1), overwritten; empty without contexts
};
void directional_backward(const Network& network, const NetworkRows& rows, const Points& v,
                          const DirectionalDerivatives& d);

}  // namespace selfnorm

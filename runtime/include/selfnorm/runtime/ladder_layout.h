// The ladder of log-normalizers of a model file: approximations a(x) of A(x) = log sum_k exp s_k(x), each
// with its cost and with what is certified of its error (docs/decisions/0015-ladder.md). Files without one
// have exact alone.
//   metadata  ladder (optional) {"rungs": [{"name", "kind", "cost", "rms", "eps", "rho", "conf", "stop"},
//   ...], "within", "rho", "conf"}: the last three, which may be left out, are what is promised when nobody
//   says; with
//             confidence conf, |A - a| <= eps for all but a share rho of inputs, for all rungs together; cost
//             in dot products of the size of x, the mean over inputs; eps absent: nothing can be certified;
//             stop: of kind nearest
//   tensors   of a rung of kind linear | network  ladder.NAME.slope, .intercept, .hidden_weight,
//   .hidden_bias, .output:
//             a(x) = c + b(x), b as in model_layout.h; the rung "amortised" is the b of the model itself
//             of all rungs of kind nearest  ladder.centroid (d + 1) x C (F32), ladder.mass C, ladder.scatter
//             C, ladder.norm 1, ladder.begin C + 1 (U32), ladder.order K (U32), ladder.bias K, and where x is
//             dense ladder.rows K x d (BF16), the weights of the classes of `order`; each has a tail t:
//             ladder.NAME.intercept 1 (F64), and for m units .extra m x 4, .hidden_bias m, .output m, and
//             .hidden_weight m x d unless the tail does not look at x
// Kind nearest: the classes order[begin_j .. begin_{j+1}) are cluster j, and bias the biases of `order`. A
// cluster is one block of memory, of half the size. With q = |x|^2 / norm,
//     m_j(x) = mass_j + sum_i x_i centroid_ij + q centroid_dj  ~  log sum_{k in j} exp s_k(x),
//     u_j = exp(m_j) (exp(max(q, kLeastSquare) scatter_j) - 1),  the exponent at most kMostDoubt,
// those with the largest u_j^2 / size_j are summed exactly, about as many as it takes (nearest_sum.h), until
//     sum_{j left} u_j^2 <= stop^2 (exp N + exp T)^2,   N = log of the exact sums, T = log sum_{j left} exp
//     m_j; a(x) = log(exp N + exp(T + t(x))),   t = intercept + output . max(0, hidden_weight x + extra f +
//     hidden_bias) within +-kTailBound, and 0 where exp T is below kNoTail of the sum; f = (T - N, a with t =
//     0, log of the left side over the right one with stop = 1, q), each within +-kMostExtra of 0 but the
//     second.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace selfnorm::runtime {

enum class RungKind { Raw, Linear, Network, Nearest, Exact };
std::string_view name(RungKind kind);

inline constexpr double kWithin = 0.1, kWithinShare = 0.01, kWithinConfidence = 0.99;

// With confidence conf, log-probabilities are off by at most `within` for all but a share rho of inputs.
struct Promise {
  double within = kWithin, rho = kWithinShare, conf = kWithinConfidence;

  bool operator==(const Promise&) const = default;
};

// What is said of a rung of any family.
struct Rung {
  std::string name;
  RungKind kind = RungKind::Raw;
  double cost = 0, rms = 0;
  double eps = std::numeric_limits<double>::infinity(), rho = 1, conf = 0;
  double stop = 0;

  bool meets(const Promise& wanted) const {
    return eps <= wanted.within && rho <= wanted.rho && conf >= wanted.conf;
  }
  bool operator==(const Rung&) const = default;
};

struct PromisedRungs {
  std::vector<Rung> rungs;
  Promise promise;  // when nobody says another
};
// The value of the metadata "ladder". Throws FormatError naming the file.
PromisedRungs parse_rungs(std::string_view json, const std::string& file);

inline constexpr size_t kNoRung = ~size_t{0};
// The rung of least cost that meets what is wanted; kNoRung: none, so exact.
template <class Rungs>
size_t cheapest_within(const Rungs& rungs, const Promise& wanted) {
  size_t best = kNoRung;
  for (size_t i = 0; i < rungs.size(); ++i)
    if (rungs[i].meets(wanted) && (best == kNoRung || rungs[i].cost < rungs[best].cost)) best = i;
  return best;
}

struct NormalizerLayout {
  std::span<const double> intercept;  // 1; empty: there is no b
  std::span<const float> slope, hidden_weight, hidden_bias, output;

  bool exists() const { return !intercept.empty(); }
};

inline constexpr size_t kTailExtras = 4;
inline constexpr double kTailBound = 3, kNoTail = 1e-4, kMostExtra = 12;
inline constexpr float kMostDoubt = 4;  // exponent of a doubt
inline constexpr uint64_t kMostClusters = 8192, kMostRungs = 64;

struct RungLayout : Rung {
  NormalizerLayout b;            // linear, network; nearest: the tail, without a slope
  std::span<const float> extra;  // m x kTailExtras
};

struct ClusterLayout {
  std::span<const float> centroid, mass, scatter, norm, bias;
  std::span<const uint32_t> begin, order;
  std::span<const uint16_t> rows;  // empty: the weights of the model

  size_t clusters() const { return mass.size(); }
};

struct LadderLayout {
  std::vector<RungLayout> rungs;
  Promise promise;
  ClusterLayout clusters;

  bool exists() const { return !rungs.empty(); }
  // By name; kNoRung.
  size_t find(std::string_view rung) const {
    for (size_t i = 0; i < rungs.size(); ++i)
      if (rungs[i].name == rung) return i;
    return kNoRung;
  }
};

struct Safetensors;
struct LadderPlace {
  const Safetensors& file;
  const std::string& name;
  uint64_t classes, features;
  const NormalizerLayout& normalizer;  // of the model itself
};
// Empty where there is none. Checks metadata, dtypes and shapes; adds the names of the tensors it reads to
// `known`.
LadderLayout read_ladder(const LadderPlace& place, std::vector<std::string>& known);
// Scans its tensors: finite, scatter >= 0, clusters that tile the order, which is a permutation of the
// classes.
void check_ladder(const LadderLayout& ladder, uint64_t classes, const std::string& file);

}  // namespace selfnorm::runtime

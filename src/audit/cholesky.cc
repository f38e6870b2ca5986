#include "audit/cholesky.h"

#include <Eigen/Dense>
#include <algorithm>
#include <vector>

#include "math/gemm.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

constexpr size_t kCholeskyBlock = 128;

using StridedMatrix = Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>>;

StridedMatrix block_of(double* at, size_t rows, size_t columns, size_t stride) {
  return {at, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns),
          Eigen::OuterStride<>(static_cast<Eigen::Index>(stride))};
}

}  // namespace

// With the columns [begin, end) of a block: L11 L11' = A11, L21 = A21 L11'^-1, A22 <- A22 - L21 L21'.
// Column-major, L21 has its columns, contiguous, where a row-major matrix has the rows of L21'.
bool cholesky(double* a, size_t n) {
  std::vector<double> negative;
  for (size_t begin = 0; begin < n; begin += kCholeskyBlock) {
    const size_t end = std::min(n, begin + kCholeskyBlock), width = end - begin, rest = n - end;
    StridedMatrix corner = block_of(a + begin * n + begin, width, width, n);
    const Eigen::LLT<Eigen::MatrixXd> factor(corner);
    if (factor.info() != Eigen::Success) return false;
    corner.triangularView<Eigen::Lower>() = factor.matrixL();
    if (rest == 0) break;
    double* const panel = a + begin * n + end;
    negative.resize(width * rest);
    parallel_ranges(rest, kCholeskyBlock, [&](size_t first, size_t last) {
      StridedMatrix rows = block_of(panel + first, last - first, width, n);
      factor.matrixU().solveInPlace<Eigen::OnTheRight>(rows);
      block_of(negative.data() + first, last - first, width, rest) = -rows;
    });
    parallel_ranges(rest, kCholeskyBlock, [&](size_t first, size_t last) {
      double* const columns = a + (end + first) * n + end + first;
      gemm_transposed(last - first, rest - first, width, negative.data() + first, rest, panel + first, n,
                      columns, n);
    });
  }
  return true;
}

}  // namespace selfnorm

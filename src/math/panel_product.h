// Products of row-major float matrices as the layers of a network need them on a tile of rows: many small
// products with one right factor, which is packed once. Compiled for several instruction sets
// (math/kernels.h), single-threaded. Element (i, j) is one sum over k in order, so its bits do not depend on
// m, on the place of row i, or on the threads.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace selfnorm {

// Columns come in panels of this many floats; a matrix that is written to has whole panels.
inline constexpr size_t kPanel = 32;
constexpr size_t whole_panels(size_t n) { return (n + kPanel - 1) / kPanel * kPanel; }
// A row stride that is an odd number of cache lines, so that the rows of a tile do not share cache sets.
constexpr size_t panel_stride(size_t n) { return whole_panels(n) + 16; }

// Aligned to cache lines; zero at first.
class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(size_t n);

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* p) const { ::operator delete[](p, kAlignment); }
  };
  std::unique_ptr<float[], Free> data_;
  size_t size_ = 0;
};

// A k x n matrix B, packed, and a row c that a product starts from (0 unless it is set).
class Panels {
 public:
  Panels() = default;
  Panels(size_t k, size_t n);

  size_t k() const { return k_; }
  size_t n() const { return n_; }
  const float* panel(size_t j) const { return values_.data() + j * k_; }  // j: a multiple of kPanel
  const float* start() const { return start_.data(); }

  // B <- factor M^T with M (n x k), rows `stride` apart.
  void pack_transposed(const float* m, size_t stride, float factor);
  // B <- factor M with M (k x n), rows `stride` apart.
  void pack(const float* m, size_t stride, float factor);
  void set_start(const float* c);

 private:
  size_t k_ = 0, n_ = 0;
  AlignedFloats values_, start_;
};

// C (m x n) <- 1 c^T + A B with A (m x k).
void panel_product(size_t m, const float* a, size_t lda, const Panels& b, float* c, size_t ldc);
// C (m x n) <- 1 start^T + A B; start has whole panels.
void panel_product_from(const float* start, size_t m, const float* a, size_t lda, const Panels& b, float* c,
                        size_t ldc);
// C (m x n) <- C + A B.
void add_panel_product(size_t m, const float* a, size_t lda, const Panels& b, float* c, size_t ldc);
// C (m x n) <- C + A^T B with A (k x m), B (k x n); B and C have whole panels.
void add_transposed_product(size_t m, size_t n, size_t k, const float* a, size_t lda, const float* b,
                            size_t ldb, float* c, size_t ldc);
// C (n x m, contiguous) <- C + A^T with A (m x n).
void add_transposed(size_t m, size_t n, const float* a, size_t lda, float* c);

}  // namespace selfnorm

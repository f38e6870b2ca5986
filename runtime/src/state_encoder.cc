#include "selfnorm/runtime/state_encoder.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <cmath>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace selfnorm::runtime {
namespace {

constexpr size_t kLine = 64 / sizeof(int16_t);
constexpr uint32_t kWordsAtOnce = 64;

size_t stride_of(const EncoderLayout& encoder) {
  return (size_t{encoder.hidden()} + kLine - 1) / kLine * kLine;
}

uint64_t physical_memory() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// U_1, ..., U_{n-1}, each m x e.
std::vector<float> by_position(const EncoderLayout& encoder) {
  const size_t e = encoder.width, m = encoder.hidden();
  std::vector<float> out(encoder.hidden_weight.size());
  for (size_t position = 0; position < encoder.positions; ++position) {
    for (size_t unit = 0; unit < m; ++unit)
      std::copy_n(encoder.hidden_weight.data() + unit * encoder.pooled() + position * e, e,
                  out.data() + (position * m + unit) * e);
  }
  return out;
}

struct Products {
  const EncoderLayout& encoder;
  const Kernels& kernels;
  std::vector<float> weight;

  // visit(word, position, P_position[word]) for a block of words.
  template <class Visit>
  void block(uint32_t first, const Visit& visit) const {
    float products[kWidestLayer];
    const size_t e = encoder.width, m = encoder.hidden();
    const uint64_t end = std::min<uint64_t>(encoder.inputs, uint64_t{first} + kWordsAtOnce);
    for (size_t position = 0; position < encoder.positions; ++position) {
      for (uint64_t word = first; word < end; ++word) {
        kernels.dot_f32({weight.data() + position * m * e, m, e, encoder.embedding.data() + word * e},
                        products);
        visit(static_cast<uint32_t>(word), static_cast<uint32_t>(position), products);
      }
    }
  }
};

// work(first word) for every block of words, on as many threads as asked for or can be had.
template <class Work>
void for_each_block(uint32_t words, unsigned threads, const Work& work) {
  std::atomic<uint64_t> next = 0;
  const auto run = [&] {
    for (uint64_t first; (first = next.fetch_add(kWordsAtOnce)) < words;) work(static_cast<uint32_t>(first));
  };
  std::vector<std::thread> others;
  try {
    while (others.size() + 1 < threads) others.emplace_back(run);
  } catch (const std::system_error&) {  // no more threads: those that are there do it
  }
  run();
  for (std::thread& thread : others) thread.join();
}

void keep_largest(std::atomic<float>& place, float value) {
  float seen = place.load(std::memory_order_relaxed);
  while (seen < value && !place.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

// Adding 1.5 x 2^23 leaves no fraction bits.
int16_t nearest(float q) { return static_cast<int16_t>((q + 12582912.0f) - 12582912.0f); }

bool all_bounded(const float* values, size_t n) {
  unsigned good = 1;
  for (size_t i = 0; i < n; ++i) good &= std::fabs(values[i]) <= FLT_MAX ? 1u : 0u;
  return good != 0;
}

}  // namespace

uint64_t HiddenTable::bytes(const EncoderLayout& encoder) {
  if (encoder.kind != EncoderKind::Context || encoder.hidden() == 0) return 0;
  return uint64_t{encoder.inputs} * encoder.positions * stride_of(encoder) * sizeof(int16_t);
}

bool HiddenTable::build(const EncoderLayout& encoder, const Kernels& kernels, unsigned threads) {
  const size_t m = encoder.hidden(), positions = encoder.positions;
  HiddenTable out;
  out.bytes_ = bytes(encoder);
  out.positions_ = positions;
  out.stride_ = stride_of(encoder);
  out.scale_.resize(m);
  if (out.bytes_ > physical_memory()) throw std::bad_alloc();
  void* memory = ::mmap(nullptr, out.bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  ::madvise(memory, out.bytes_, MADV_HUGEPAGE);
  out.rows_ = static_cast<int16_t*>(memory);

  const Products products{encoder, kernels, by_position(encoder)};
  std::vector<std::atomic<float>> largest(positions * m);
  std::atomic<bool> finite = true;
  for_each_block(encoder.inputs, threads, [&](uint32_t first) {
    products.block(first, [&](uint32_t, uint32_t position, const float* p) {
      for (size_t j = 0; j < m; ++j) {
        if (!std::isfinite(p[j])) finite = false;
        keep_largest(largest[position * m + j], std::fabs(p[j]));
      }
    });
  });
  for (size_t j = 0; j < m; ++j) {
    double sum = 0;
    for (size_t i = 0; i < positions; ++i) sum += largest[i * m + j].load();
    out.scale_[j] = std::max(static_cast<float>(sum / static_cast<double>(32767 - positions)), FLT_MIN);
    if (!std::isfinite(encoder.hidden_bias[j]) || !std::isfinite(32767 * out.scale_[j])) finite = false;
  }
  if (!finite) return false;

  for_each_block(encoder.inputs, threads, [&](uint32_t first) {
    products.block(first, [&](uint32_t word, uint32_t position, const float* p) {
      int16_t* row = out.rows_ + (uint64_t{word} * positions + position) * out.stride_;
      for (size_t j = 0; j < m; ++j) row[j] = nearest(p[j] / out.scale_[j]);
    });
  });
  *this = std::move(out);
  return true;
}

HiddenTable::HiddenTable(HiddenTable&& other) noexcept { *this = std::move(other); }

HiddenTable& HiddenTable::operator=(HiddenTable&& other) noexcept {
  std::swap(rows_, other.rows_);
  std::swap(bytes_, other.bytes_);
  std::swap(positions_, other.positions_);
  std::swap(stride_, other.stride_);
  std::swap(scale_, other.scale_);
  return *this;
}

HiddenTable::~HiddenTable() {
  if (rows_ != nullptr) ::munmap(rows_, bytes_);
}

StateEncoder::StateEncoder(const EncoderLayout& layout, const Kernels& kernels)
    : layout_(layout), kernels_(&kernels) {}

// max(0, U v + t); a unit that is not finite would hide in the maximum.
bool StateEncoder::hidden(const float* v, float* h) const {
  const size_t m = layout_.hidden();
  kernels_->dot_f32({layout_.hidden_weight.data(), m, layout_.pooled(), v}, h);
  for (size_t i = 0; i < m; ++i) h[i] += layout_.hidden_bias[i];
  if (!all_bounded(h, m)) return false;
  for (size_t i = 0; i < m; ++i) h[i] = std::max(0.0f, h[i]);
  return true;
}

bool StateEncoder::bag(const Query& x, float* h) const {
  const size_t e = layout_.width;
  const auto pool = [&](float* v) {
    double total = 0;
    for (const float a : x.value) total += std::fabs(a);
    std::fill_n(v, e, 0.0f);
    if (!std::isfinite(total)) return false;
    for (size_t i = 0; i < x.value.size() && total > 0; ++i) {
      const auto a = static_cast<float>(x.value[i] / total);
      kernels_->add_scaled(a, layout_.embedding.data() + x.index[i] * e, e, v);
    }
    return all_bounded(v, e);
  };
  if (layout_.hidden() == 0) return pool(h);
  return with_floats(e, [&](float* v) { return pool(v) && hidden(v, h); });
}

bool StateEncoder::context(const uint32_t* words, float* h) const {
  if (table_.exists()) {
    const int16_t* rows[kMostPositions];
    kernels_->hidden(hidden_sum(words, rows), h);
    return true;
  }
  const size_t e = layout_.width;
  const auto concatenate = [&](float* v) {
    for (size_t i = 0; i < layout_.positions; ++i)
      std::copy_n(layout_.embedding.data() + words[i] * e, e, v + i * e);
    return all_bounded(v, layout_.pooled());
  };
  if (layout_.hidden() == 0) return concatenate(h);
  return with_floats(layout_.pooled(), [&](float* v) { return concatenate(v) && hidden(v, h); });
}

bool StateEncoder::precompute(unsigned threads) {
  return table_.exists() || HiddenTable::bytes(layout_) == 0 || table_.build(layout_, *kernels_, threads);
}

HiddenSum StateEncoder::hidden_sum(const uint32_t* words, const int16_t** rows) const {
  for (uint32_t i = 0; i < layout_.positions; ++i) rows[i] = table_.row(words[i], i);
  return {rows, layout_.positions, table_.scale(), layout_.hidden_bias.data(), layout_.hidden()};
}

}  // namespace selfnorm::runtime

#include "text_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "grams.h"

namespace selfnorm {
namespace {

constexpr uint32_t kDropped = 0xFFFFFFFFu;

std::vector<uint64_t> text_frequency(const SparseMatrix& counts, uint64_t features) {
  std::vector<uint64_t> frequency(features, 0);
  for (uint32_t column : counts.column) ++frequency[column];
  return frequency;
}

// Numbers of the n-grams kept, in bytewise order.
std::vector<uint32_t> choose(const TextOptions& options, const StringIndex& grams,
                             const std::vector<uint64_t>& frequency) {
  std::vector<uint32_t> kept;
  for (uint32_t g = 0; g < grams.size(); ++g)
    if (frequency[g] >= options.min_count) kept.push_back(g);
  auto bytewise = [&](uint32_t a, uint32_t b) { return grams[a] < grams[b]; };
  if (options.max_vocabulary > 0 && kept.size() > options.max_vocabulary) {
    std::sort(kept.begin(), kept.end(), [&](uint32_t a, uint32_t b) {
      return frequency[a] != frequency[b] ? frequency[a] > frequency[b] : bytewise(a, b);
    });
    kept.resize(options.max_vocabulary);
  }
  std::sort(kept.begin(), kept.end(), bytewise);
  return kept;
}

// Columns become number[column], sorted; those without a number go.
void renumber(const std::vector<uint32_t>& number, SparseMatrix& counts) {
  uint64_t out = 0;
  std::vector<std::pair<uint32_t, float>> row;
  for (uint64_t r = 0; r < counts.rows(); ++r) {
    row.clear();
    for (uint64_t k = counts.begin[r]; k < counts.begin[r + 1]; ++k)
      if (number[counts.column[k]] != kDropped) row.emplace_back(number[counts.column[k]], counts.value[k]);
    std::sort(row.begin(), row.end());
    counts.begin[r] = out;
    for (auto [column, value] : row) {
      counts.column[out] = column;
      counts.value[out++] = value;
    }
  }
  counts.begin.back() = out;
  counts.column.resize(out);
  counts.value.resize(out);
}

}  // namespace

TextEncoder fit_text(const TextOptions& options, const StringIndex& grams, SparseMatrix& counts) {
  bool hashed = options.hash_buckets > 0;
  std::vector<uint64_t> frequency = text_frequency(counts, hashed ? options.hash_buckets : grams.size());
  std::vector<std::string> vocabulary;
  counts.columns = options.hash_buckets;
  if (!hashed) {
    std::vector<uint32_t> kept = choose(options, grams, frequency);
    std::vector<uint32_t> number(grams.size(), kDropped);
    std::vector<uint64_t> kept_frequency;
    for (uint32_t g : kept) {
      number[g] = static_cast<uint32_t>(vocabulary.size());
      vocabulary.emplace_back(grams[g]);
      kept_frequency.push_back(frequency[g]);
    }
    frequency = std::move(kept_frequency);
    renumber(number, counts);
    counts.columns = static_cast<uint32_t>(vocabulary.size());
  }
  std::vector<float> idf;
  if (options.tf_idf) {
    double texts = static_cast<double>(counts.rows());
    for (uint64_t df : frequency)
      idf.push_back(static_cast<float>(1 + std::log((1 + texts) / (1 + static_cast<double>(df)))));
    for (uint64_t r = 0; r < counts.rows(); ++r) {
      uint64_t begin = counts.begin[r], size = counts.begin[r + 1] - begin;
      weigh({counts.column.data() + begin, size}, {counts.value.data() + begin, size}, idf);
    }
  }
  return TextEncoder(options, std::move(vocabulary), std::move(idf));
}

}  // namespace selfnorm

#include "normalizer/quadrature/conditional_quadrature.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/failure.h"
#include "math/parallel.h"
#include "normalizer/quadrature/conditional_cells.h"

namespace selfnorm {
namespace {

constexpr uint32_t kMostEvaluations[] = {0, 4096, 65536, 262144};
constexpr uint64_t kInputsAtOnce[] = {0, 512, 64, 16};
constexpr size_t kNodesAtOnce = size_t{1} << 19;
constexpr size_t kRowGrain = 8;  // rows

struct RowBlock {
  const ConditionalScores& scores;
  const ConditionalQuadratureOptions& options;
  uint64_t begin;
  std::vector<std::optional<ConditionalCells>> rows = {};
  std::vector<std::string> failure = {};  // of a row

  // body(row of the block), in parallel; the first row that fails is reported.
  template <class Body>
  void each(const Body& body) {
    parallel_ranges(rows.size(), kRowGrain, [&](size_t from, size_t to) {
      for (size_t i = from; i < to; ++i) {
        try {
          body(i);
        } catch (const Error& e) {
          failure[i] = e.what();
        }
      }
    });
    for (size_t i = 0; i < rows.size(); ++i)
      if (!failure[i].empty()) throw_error("row {}: {}", options.first_row + begin + i, failure[i]);
  }
};

// Scores of all nodes that the rows wait for, whole rows at a time.
void answer(RowBlock& block) {
  const uint32_t d = block.scores.dimension();
  std::vector<size_t> offset;
  std::vector<float> y;
  std::vector<uint32_t> row;
  std::vector<double> s;
  for (size_t begin = 0, end = 0; begin < block.rows.size(); begin = end) {
    offset.assign(1, 0);
    while (end < block.rows.size() && offset.back() < kNodesAtOnce)
      offset.push_back(offset.back() + block.rows[end++]->waiting());
    const size_t n = offset.back();
    if (n == 0) continue;
    y.resize(n * d);
    row.resize(n);
    s.resize(n);
    parallel_ranges(end - begin, kRowGrain, [&](size_t from, size_t to) {
      for (size_t i = from; i < to; ++i) {
        const size_t first = offset[i], count = offset[i + 1] - first;
        block.rows[begin + i]->nodes(std::span(y).subspan(first * d, count * d));
        std::fill_n(row.begin() + static_cast<std::ptrdiff_t>(first), count,
                    static_cast<uint32_t>(block.begin + begin + i));
      }
    });
    block.scores.score({y.data(), n, d}, row, s);
    block.each([&](size_t i) {
      if (i < begin || i >= end) return;
      const size_t first = offset[i - begin], count = offset[i - begin + 1] - first;
      if (count > 0) block.rows[i]->take(std::span(s).subspan(first, count));
    });
  }
}

// finish(row, cells) for every row of `scores`.
template <class Finish>
void integrate(const ConditionalScores& scores, const ConditionalQuadratureOptions& options,
               const Finish& finish) {
  options.validate();
  const uint32_t d = scores.dimension();
  require_range(d >= 1 && d <= 3, "quadrature of p(y|x): dimension of y", d, "1 .. 3");
  const Support support = scores.support();
  if (!support.is_real()) throw Error("quadrature of p(y|x) needs real y; found levels or counts");
  const auto whole_of = [&](uint64_t row) {
    const Support own = scores.support_at(row);
    ConditionalBox whole;
    for (uint32_t j = 0; j < d; ++j) {
      whole.lower[j] = own.lower.empty() ? -INFINITY : own.lower[j];
      whole.upper[j] = own.upper.empty() ? INFINITY : own.upper[j];
    }
    return whole;
  };
  const ConditionalRule rule(d);
  const uint64_t most = options.most_evaluations == 0 ? kMostEvaluations[d] : options.most_evaluations;
  const ConditionalStartOptions start{d, options.precision, static_cast<size_t>(most / 4 / rule.nodes)};
  for (uint64_t begin = 0; begin < scores.rows(); begin += kInputsAtOnce[d]) {
    const uint64_t end = std::min(scores.rows(), begin + kInputsAtOnce[d]);
    RowBlock block{scores, options, begin};
    block.rows.resize(end - begin);
    block.failure.resize(end - begin);
    block.each([&](size_t i) {
      const ConditionalBox whole = whole_of(begin + i);
      block.rows[i].emplace(rule, conditional_start(scores.places(begin + i), whole, start), whole);
    });
    std::vector<uint8_t> asks(block.rows.size(), 1);
    while (std::find(asks.begin(), asks.end(), 1) != asks.end()) {
      answer(block);
      block.each([&](size_t i) { asks[i] = asks[i] && block.rows[i]->plan(options.precision, most); });
    }
    block.each([&](size_t i) { finish(begin + i, *block.rows[i]); });
  }
}

}  // namespace

const KronrodRule& cell_rule(uint32_t dimension) {
  static const KronrodRule line(7), plane(5), space(3);
  return dimension == 1 ? line : dimension == 2 ? plane : space;
}

uint64_t rows_at_once(uint32_t dimension) { return kInputsAtOnce[std::clamp(dimension, 1u, 3u)]; }

void ConditionalQuadratureOptions::validate() const {
  require_range(precision >= 1e-8 && precision <= 0.1, "quadrature of p(y|x): precision", precision,
                "1e-8 .. 0.1");
}

std::vector<PredictiveNodes> conditional_quadrature(const ConditionalScores& scores,
                                                    const ConditionalQuadratureOptions& options) {
  std::vector<PredictiveNodes> out(scores.rows());
  integrate(scores, options, [&](uint64_t i, const ConditionalCells& cells) { out[i] = cells.result(); });
  return out;
}

std::vector<ConditionalLogZ> conditional_log_z(const ConditionalScores& scores,
                                               const ConditionalQuadratureOptions& options) {
  std::vector<ConditionalLogZ> out(scores.rows());
  if (scores.is_normalised()) return out;
  integrate(scores, options, [&](uint64_t i, const ConditionalCells& cells) { out[i] = cells.log_z(); });
  return out;
}

}  // namespace selfnorm

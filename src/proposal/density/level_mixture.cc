#include "proposal/density/level_mixture.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/parallel.h"
#include "math/random.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr double kPriorRows = 2;  // a
constexpr uint64_t kRowsOfComponent = 20;
constexpr size_t kPieces = 8;
constexpr uint64_t kStream = 0x6c6d6978;  // "lmix"

std::vector<size_t> begins(const std::vector<uint32_t>& levels) {
  std::vector<size_t> begin{0};
  for (const uint32_t count : levels) begin.push_back(begin.back() + count);
  return begin;
}

double log_sum(std::span<const double> terms) {
  LogSumExp sum;
  for (const double term : terms) sum.add(term);
  return sum.value();
}

class LevelFit {
 public:
  LevelFit(const Points& data, const std::vector<uint32_t>& levels, const LevelMixtureOptions& options)
      : data_(data), levels_(levels), begin_(begins(levels)), options_(options), pooled_(begin_.back()) {
    std::vector<double> count(begin_.back(), 0.5);
    const double one = 1;
    for (uint64_t i = 0; i < data.rows; ++i) add(data.row(i), {&one, 1}, count);
    for (size_t j = 0; j < levels.size(); ++j)
      for (size_t l = begin_[j]; l < begin_[j + 1]; ++l)
        pooled_[l] = count[l] / (static_cast<double>(data.rows) + 0.5 * levels[j]);
  }

  // The mixture and its log-likelihood.
  std::pair<LevelMixture, double> run(uint32_t components, uint64_t start) const {
    LevelMixture mixture = around_rows(components, start);
    double last = -std::numeric_limits<double>::infinity();
    for (uint64_t i = 0; i < options_.iterations; ++i) {
      auto [next, likelihood] = improved(mixture);
      mixture = std::move(next);
      if (likelihood - last < options_.tolerance * static_cast<double>(data_.rows)) break;
      last = likelihood;
    }
    return {mixture, improved(mixture).second};
  }

 private:
  // Expected counts of components, and of levels in each component.
  struct Counts {
    std::vector<double> component, level;
    double log_likelihood = 0;
  };

  // A row, a share of it in each component.
  void add(std::span<const float> row, std::span<const double> share, std::span<double> count) const {
    for (size_t j = 0; j < row.size(); ++j) {
      double* to = count.data() + (begin_[j] + static_cast<size_t>(row[j])) * share.size();
      for (size_t c = 0; c < share.size(); ++c) to[c] += share[c];
    }
  }

  LevelMixture of(const Counts& counts) const {
    const size_t k = counts.component.size(), width = begin_.back();
    double rows = 0;
    for (const double n : counts.component) rows += n;
    std::vector<double> log_weight(k), log_share(k * width);
    for (size_t c = 0; c < k; ++c)
      log_weight[c] = std::log((counts.component[c] + 1) / (rows + static_cast<double>(k)));
    for (size_t l = 0; l < width; ++l)
      for (size_t c = 0; c < k; ++c)
        log_share[l * k + c] = std::log((counts.level[l * k + c] + kPriorRows * pooled_[l]) /
                                        (counts.component[c] + kPriorRows));
    return {levels_, std::move(log_weight), std::move(log_share)};
  }

  LevelMixture around_rows(uint32_t components, uint64_t start) const {
    const std::vector<uint64_t> order =
        random_permutation(data_.rows, RandomStream(options_.seed, kStream + start));
    Counts counts{std::vector<double>(components, 1), std::vector<double>(components * begin_.back())};
    std::vector<double> share(components);
    for (uint32_t c = 0; c < components; ++c) {
      share[c] = 1;
      add(data_.row(order[c]), share, counts.level);
      share[c] = 0;
    }
    return of(counts);
  }

  // After one step, and the log-likelihood before it. Pieces are cut by the number of rows alone.
  std::pair<LevelMixture, double> improved(const LevelMixture& mixture) const {
    const size_t k = mixture.components(), width = begin_.back();
    const size_t grain = (data_.rows + kPieces - 1) / kPieces;
    std::vector<Counts> part((data_.rows + grain - 1) / grain);
    parallel_ranges(data_.rows, grain, [&](size_t first, size_t end) {
      Counts& own = part[first / grain];
      own = {std::vector<double>(k), std::vector<double>(k * width)};
      std::vector<double> term(k);
      for (size_t i = first; i < end; ++i) {
        mixture.log_terms(data_.row(i), term);
        const double log_q = log_sum(term);
        own.log_likelihood += log_q;
        for (size_t c = 0; c < k; ++c) {
          term[c] = std::exp(term[c] - log_q);
          own.component[c] += term[c];
        }
        add(data_.row(i), term, own.level);
      }
    });
    for (size_t p = 1; p < part.size(); ++p) {
      for (size_t c = 0; c < k; ++c) part[0].component[c] += part[p].component[c];
      for (size_t l = 0; l < k * width; ++l) part[0].level[l] += part[p].level[l];
      part[0].log_likelihood += part[p].log_likelihood;
    }
    return {of(part[0]), part[0].log_likelihood};
  }

  const Points& data_;
  const std::vector<uint32_t>& levels_;
  std::vector<size_t> begin_;
  const LevelMixtureOptions& options_;
  std::vector<double> pooled_;
};

}  // namespace

LevelMixture::LevelMixture(std::vector<uint32_t> levels, std::vector<double> log_weight,
                           std::vector<double> log_share)
    : levels_(std::move(levels)),
      begin_(begins(levels_)),
      log_weight_(std::move(log_weight)),
      log_share_(std::move(log_share)) {
  SELFNORM_CHECK(log_share_.size() == log_weight_.size() * begin_.back());
}

void LevelMixture::log_terms(std::span<const float> row, std::span<double> out) const {
  std::copy(log_weight_.begin(), log_weight_.end(), out.begin());
  for (size_t j = 0; j < row.size(); ++j) {
    const bool is_level =
        row[j] >= 0 && row[j] < static_cast<float>(levels_[j]) && row[j] == std::floor(row[j]);
    if (!is_level) return std::fill(out.begin(), out.end(), -std::numeric_limits<double>::infinity());
    const double* share = log_share_.data() + (begin_[j] + static_cast<size_t>(row[j])) * out.size();
    for (size_t c = 0; c < out.size(); ++c) out[c] += share[c];
  }
}

void LevelMixture::log_prob(const Points& x, std::span<double> out) const {
  std::vector<double> term(components());
  for (uint64_t i = 0; i < x.rows; ++i) {
    log_terms(x.row(i), term);
    out[i] = log_sum(term);
  }
}

LevelMixture fit_level_mixture(const Points& data, const std::vector<uint32_t>& levels,
                               const LevelMixtureOptions& options) {
  SELFNORM_CHECK(data.rows > 0 && options.components > 0 && options.starts > 0);
  std::vector<uint64_t> chosen = random_permutation(data.rows, RandomStream(options.seed, kStream));
  chosen.resize(std::min<uint64_t>(data.rows, std::max<uint64_t>(1, options.cells / data.columns)));
  std::sort(chosen.begin(), chosen.end());
  const std::vector<float> rows = data.take(chosen);
  const Points used{rows.data(), chosen.size(), data.columns};
  const LevelFit fit(used, levels, options);
  const auto components =
      static_cast<uint32_t>(std::clamp<uint64_t>(used.rows / kRowsOfComponent, 1, options.components));
  auto best = fit.run(components, 1);
  for (uint64_t start = 2; start <= options.starts && components > 1; ++start)
    if (auto next = fit.run(components, start); next.second > best.second) best = std::move(next);
  return std::move(best.first);
}

}  // namespace selfnorm

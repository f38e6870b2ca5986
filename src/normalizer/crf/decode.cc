#include "normalizer/crf/decode.h"

#include <algorithm>
#include <queue>

#include "math/crf_kernels.h"
#include "selfnorm/runtime/crf_lattice.h"

namespace selfnorm {
namespace {

// The Room of selfnorm/runtime/crf_lattice.h for the table of Viterbi. Sums are taken in the order of
// crf_score, so they are its bits.
template <class Real>
class ViterbiTable {
 public:
  explicit ViterbiTable(const BasicCrfScores<Real>& scores) : scores_(scores) {
    check_scores(scores);
    delta_.resize(scores.length * labels());
    from_.resize(scores.length * labels());
    runtime::crf_viterbi(*this);
  }

  uint64_t labels() const { return scores_.labels; }
  uint64_t length() const { return scores_.length; }
  const Real* unary(uint64_t t) const { return scores_.unary_at(t); }
  const Real* pair(uint64_t t) const { return scores_.pair_at(t); }
  double* delta(uint64_t t) { return delta_.data() + t * labels(); }
  uint64_t* from(uint64_t t) { return from_.data() + t * labels(); }
  void max_plus(const double* x, const Real* v, double* best, uint64_t* from) const {
    selfnorm::max_plus(x, v, labels(), best, from);
  }

 private:
  const BasicCrfScores<Real>& scores_;
  std::vector<double> delta_;
  std::vector<uint64_t> from_;
};

// The rank-th best way to reach a label: by the `rank`-th best way to reach `label` one position before.
struct Step {
  double score = 0;
  uint32_t label = 0;
  uint64_t rank = 0;

  bool operator<(const Step& other) const {  // worse
    if (score != other.score) return score < other.score;
    return label != other.label ? label > other.label : rank > other.rank;
  }
};

struct PathNode {
  std::vector<Step> ways;           // in decreasing order
  std::priority_queue<Step> queue;  // candidates for the next
  bool is_open = false;             // the queue has the best way through every label before
};

// PathNode (t, k) is label k of position t; node (T, 0) is the end, whose ways are the labellings.
template <class Real>
class BestWays {
 public:
  explicit BestWays(const BasicCrfScores<Real>& scores)
      : scores_(scores), table_(scores), nodes_(scores.length * scores.labels + 1) {}

  bool has(uint64_t rank) {
    while (end().ways.size() <= rank)
      if (!extend()) return false;
    return true;
  }

  Labelling labelling(uint64_t rank) {
    Labelling out{std::vector<uint32_t>(scores_.length), end().ways[rank].score};
    Step step = end().ways[rank];
    for (uint64_t t = scores_.length; t-- > 0;) {
      out.labels[t] = step.label;
      if (t > 0) step = way(t, step.label, step.rank);
    }
    return out;
  }

 private:
  PathNode& node(uint64_t t, uint32_t k) { return nodes_[t * scores_.labels + k]; }
  PathNode& end() { return nodes_.back(); }

  // Ways of rank 0 are those of the Viterbi table until a node is opened.
  Step way(uint64_t t, uint32_t k, uint64_t rank) {
    if (rank < node(t, k).ways.size()) return node(t, k).ways[rank];
    return {table_.delta(t)[k], t > 0 ? static_cast<uint32_t>(table_.from(t)[k]) : 0, 0};
  }
  bool is_known(uint64_t t, uint32_t k, uint64_t rank) { return rank == 0 || rank < node(t, k).ways.size(); }

  // The score of reaching (t, k) by the rank-th way to (t-1, j).
  Step candidate(uint64_t t, uint32_t k, uint32_t j, uint64_t rank) {
    double score = way(t - 1, j, rank).score;
    if (t < scores_.length) {
      score += static_cast<double>(scores_.pair_at(t)[uint64_t{j} * scores_.labels + k]);
      score += static_cast<double>(scores_.unary_at(t)[k]);
    }
    return {score, j, rank};
  }

  void open(uint64_t t, uint32_t k) {
    PathNode& n = node(t, k);
    n.is_open = true;
    for (uint32_t j = 0; j < scores_.labels; ++j) n.queue.push(candidate(t, k, j, 0));
    take(n);
  }
  static void take(PathNode& n) {
    n.ways.push_back(n.queue.top());
    n.queue.pop();
  }

  // One more way to the end: down to the first position where the successor of the last way is known or
  // cannot be, then up again.
  bool extend() {
    if (!end().is_open) {
      open(scores_.length, 0);
      return true;
    }
    uint64_t t = scores_.length;
    uint32_t k = 0;
    std::vector<uint32_t> path;
    while (true) {
      if (!node(t, k).is_open) open(t, k);
      const Step last = node(t, k).ways.back();
      path.push_back(k);
      if (t == 1 || is_known(t - 1, last.label, last.rank + 1)) break;
      k = last.label;
      --t;
    }
    bool is_longer = false;
    for (; !path.empty(); path.pop_back(), ++t) {
      PathNode& n = node(t, path.back());
      const Step last = n.ways.back();
      if (t > 1 && last.rank + 1 < node(t - 1, last.label).ways.size())
        n.queue.push(candidate(t, path.back(), last.label, last.rank + 1));
      is_longer = !n.queue.empty();
      if (is_longer) take(n);
    }
    return is_longer;
  }

  const BasicCrfScores<Real>& scores_;
  ViterbiTable<Real> table_;
  std::vector<PathNode> nodes_;
};

}  // namespace

template <class Real>
Labelling viterbi(const BasicCrfScores<Real>& scores) {
  ViterbiTable<Real> table(scores);
  Labelling best{std::vector<uint32_t>(scores.length), 0};
  runtime::crf_best_path(table, best.labels.data());
  if (scores.length > 0) best.score = table.delta(scores.length - 1)[best.labels.back()];
  return best;
}

template <class Real>
Labelling posterior_decoding(const BasicCrfScores<Real>& scores, const BasicLattice<Real>& lattice) {
  Labelling best;
  for (uint64_t t = 0; t < scores.length; ++t) {
    const std::span<const Real> p = lattice.marginals().subspan(t * scores.labels, scores.labels);
    best.labels.push_back(static_cast<uint32_t>(std::max_element(p.begin(), p.end()) - p.begin()));
  }
  best.score = crf_score<Real>(scores, best.labels);
  return best;
}

template <class Real>
Labelling sample_labelling(const BasicCrfScores<Real>& scores, const BasicLattice<Real>& lattice,
                           RandomStream& random) {
  Labelling draw{std::vector<uint32_t>(scores.length), 0};
  std::vector<double> weights(scores.labels);
  uint32_t next = 0;
  for (uint64_t t = scores.length; t-- > 0;) {
    lattice.prefix_weights(scores, t, next, weights);
    double total = 0;
    for (const double w : weights) total += w;
    // the first label whose sum of weights is beyond a uniform share of the total; it has a weight of its own
    const double share = random.uniform() * total;
    double sum = 0;
    for (uint32_t k = 0; k < scores.labels && sum <= share; ++k) {
      sum += weights[k];
      if (weights[k] > 0) next = k;
    }
    draw.labels[t] = next;
  }
  draw.score = crf_score<Real>(scores, draw.labels);
  return draw;
}

template <class Real>
std::vector<Labelling> n_best(const BasicCrfScores<Real>& scores, uint64_t n) {
  std::vector<Labelling> best;
  if (scores.length == 0) return n == 0 ? best : std::vector<Labelling>(1);
  BestWays<Real> ways(scores);
  while (best.size() < n && ways.has(best.size())) best.push_back(ways.labelling(best.size()));
  return best;
}

template Labelling viterbi(const BasicCrfScores<float>&);
template Labelling viterbi(const BasicCrfScores<double>&);
template Labelling posterior_decoding(const BasicCrfScores<float>&, const BasicLattice<float>&);
template Labelling posterior_decoding(const BasicCrfScores<double>&, const BasicLattice<double>&);
template Labelling sample_labelling(const BasicCrfScores<float>&, const BasicLattice<float>&, RandomStream&);
template Labelling sample_labelling(const BasicCrfScores<double>&, const BasicLattice<double>&,
                                    RandomStream&);
template std::vector<Labelling> n_best(const BasicCrfScores<float>&, uint64_t);
template std::vector<Labelling> n_best(const BasicCrfScores<double>&, uint64_t);

}  // namespace selfnorm

#include "normalizer/crf/n_best.h"

#include <algorithm>
#include <queue>

#include "normalizer/crf/viterbi_table.h"

namespace selfnorm {
namespace {

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
  ViterbiTable table_;
  std::vector<PathNode> nodes_;
};

}  // namespace

template <class Real>
std::vector<Labelling> n_best(const BasicCrfScores<Real>& scores, uint64_t n) {
  std::vector<Labelling> best;
  if (scores.length == 0) return n == 0 ? best : std::vector<Labelling>(1);
  BestWays<Real> ways(scores);
  while (best.size() < n && ways.has(best.size())) best.push_back(ways.labelling(best.size()));
  return best;
}

template std::vector<Labelling> n_best(const BasicCrfScores<float>&, uint64_t);
template std::vector<Labelling> n_best(const BasicCrfScores<double>&, uint64_t);

}  // namespace selfnorm

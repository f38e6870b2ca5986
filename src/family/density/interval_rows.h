// Rows of which some coordinates are known to lie in intervals alone (interval-censored). The likelihood of
// such a row is a mass,
//     log p(x_o, I) = log of the integral over I of p(x_o, x_c) dx_c,
// by quadrature where one coordinate is censored. Where several are, by draws: half of them of one coordinate
// after the other from truncated distributions whose moments are those of the proposal given what came before
// (Geweke 1991; Hajivassiliou, McFadden & Ruud 1996; Keane 1994), half of every coordinate for itself from
// sixteen parts of its distribution under the proposal, so that modes are met. Both are Student's with two
// degrees of freedom, so that weights stay bounded under tails as heavy. With the density r of both together
// (Veach & Guibas 1995)
//     log p(x_o, I) = log mean_m exp(s(x_o, x_m) - log r(x_m)).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "data/points/point_source.h"
#include "model/energy/density_file.h"
#include "proposal/density/density.h"

namespace selfnorm {

struct IntervalRow {
  std::vector<float> x;  // a number inside every interval
  std::vector<IntervalCell> cells;
};

// Those of some rows that have intervals, as a density sees them.
struct IntervalPart {
  std::vector<size_t> place;  // among the rows
  std::vector<IntervalRow> rows;
  std::vector<double> log_scale;  // of the censored columns: the density has no unit there

  bool empty() const { return rows.empty(); }
};
// Throws Error naming the row for an interval in a column of whole numbers, words or angles.
IntervalPart interval_part(const PointSource& data, std::span<const uint64_t> rows,
                           const Standardisation& standardisation, const Support& support);

struct IntervalMass {
  double log_mass = 0;
  double error = 0;          // estimated, of the quadrature; of draws, half of the 95% interval
  bool is_doubtful = false;  // the weights have no variance (ParetoTail): the error may be far larger
};

// Draws of the censored coordinates given what is known of the row.
struct IntervalDraws {
  std::vector<float> rows;  // of every row `count`, one row after the other
  std::vector<double> log_mass;
};

using PointScores = std::function<void(const Points&, std::span<double>)>;

class IntervalMeasure {
 public:
  // `support`: where scores are finite. The proposal says where the mass is.
  IntervalMeasure(const Density& proposal, const Support& support, uint64_t seed);

  // -inf where what is known is outside the support. A row has the same mass wherever it stands.
  std::vector<IntervalMass> masses(std::span<const IntervalRow> rows, const PointScores& score) const;
  // At even steps of their distribution function, whose start differs from row to row (one censored
  // coordinate); by resampling (several). Rows without mass: the numbers that stood there.
  IntervalDraws draws(std::span<const IntervalRow> rows, uint64_t count, const PointScores& score) const;

 private:
  struct Moments {
    std::vector<double> mean, precision;  // d; d x d
  };
  // Mean and standard deviation.
  struct Bin {
    double mean, scale;
  };
  friend class IntervalSlices;
  enum class Streams { of_content, of_place };  // random numbers of a row

  IntervalRow inside(const IntervalRow& row) const;
  bool is_possible(const IntervalRow& row) const;
  Bin conditional(const IntervalRow& row) const;  // of the one censored coordinate
  template <class Take>
  void weigh(std::span<const IntervalRow> rows, std::span<const size_t> chosen, uint64_t pool,
             Streams streams, const PointScores& score, const Take& take) const;
  template <class TakeNodes, class TakeDraws>
  void each(std::span<const IntervalRow> rows, uint64_t pool, Streams streams, const PointScores& score,
            const TakeNodes& nodes, const TakeDraws& drawn) const;

  Support support_;
  uint64_t seed_;
  uint32_t dimension_;
  Moments moments_;
  std::vector<std::vector<Bin>> bins_;  // of every coordinate, with equal shares of its draws
};

// Stochastic EM (Celeux & Diebolt 1985): a draw of q given what is known in the place of every censored
// coordinate of `points`.
void complete_rows(const IntervalPart& part, const Density& q, uint64_t seed, std::span<float> points);

// Draws of the proposal for rows in training. With the energy s and draws x_m of the proposal q given what is
// known,
//     grad log p(x_o, I) = E_p grad s(x_o, x_c) = E_q [ (p/q) grad s ] / E_q [ p/q ],
// so that a step takes for every row one of its draws, with a chance in proportion to exp(s - log q): a ratio
// of two means over few draws, the same ones in the whole run, whose bias is of the order of 1 / kDraws.
class IntervalStore {
 public:
  static constexpr uint64_t kDraws = 16;

  // log_q_of: empty where scores are s - log q already.
  IntervalStore(const IntervalPart& part, std::span<const uint64_t> rows, const Density& q, uint64_t seed,
                bool has_log_q);

  bool empty() const { return slot_.empty(); }
  uint64_t rows() const { return slot_.size(); }  // with mass under q
  bool has(uint64_t row) const { return slot_.contains(row); }
  // Those without: nothing of what is known of them is possible under q.
  const std::set<uint64_t>& lost() const { return lost_; }
  // In place of the censored coordinates of these rows.
  void complete(std::span<const uint64_t> rows, uint64_t step, const PointScores& score,
                std::span<float> points) const;
  // The sum over all rows of log mean exp(score - log q), which with the sum of their masses under q is that
  // of log p + log Z.
  double log_ratios(const PointScores& score) const;
  double log_masses() const;  // under q, in the units of the data but for the observed columns

 private:
  uint64_t seed_;
  uint32_t dimension_;
  std::map<uint64_t, size_t> slot_;  // of a row
  std::set<uint64_t> lost_;
  std::vector<float> draws_;
  std::vector<double> log_q_;
  double log_masses_ = 0;
};

}  // namespace selfnorm

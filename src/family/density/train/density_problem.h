// What a density is trained with: its options with every "auto" resolved by the data, the energy at its
// start, the proposal, the standardisation. Statistics come from the training rows alone;
// held-out rows choose between proposals, and a column is binary where it is 0 or 1 in them too.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>

#include "data/points/point_source.h"
#include "family/density/interval_rows.h"
#include "family/density/train/density_options.h"
#include "model/energy/density_file.h"
#include "proposal/density/make_density.h"

namespace selfnorm {

struct ColumnReading;

class DensityProblem {
 public:
  // Throws Error for data that do not fit the options (one row, fractions in binary data, ...). A proposal
  // that is chosen by the data is the best on valid_rows, which may be empty; `say` hears what was tried.
  DensityProblem(const PointSource& data, std::span<const uint64_t> train_rows,
                 std::span<const uint64_t> valid_rows, const DensityOptions& options,
                 std::function<void(const std::string&)> say = {});

  const DensityOptions& options() const { return options_; }
  const Support& space() const { return space_; }  // of the data
  Energy& energy() { return *energy_; }
  const Energy& energy() const { return *energy_; }
  const Density& proposal() const { return *proposal_; }
  LearnableDensity* learnable_proposal() { return learnable_; }  // null unless it is learned
  // The energy f whose weights are exp(f): when the proposal itself is tilted, log q cancels from s - log q.
  // Null: it does not cancel.
  Energy* cancelled_tilt() { return tilt_; }
  const Standardisation& standardisation() const { return standardisation_; }

  // One line on how the proposal was chosen; empty: the options said which.
  const std::string& choice() const { return choice_; }
  // What the user should know of the data.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // The rows listed, standardised; of a censored coordinate a number inside its interval.
  void read(std::span<const uint64_t> rows, std::vector<float>& out) const;
  bool has_intervals() const { return data_.has_intervals(); }
  // Draws of the proposal for those of these rows that have intervals.
  IntervalStore interval_store(std::span<const uint64_t> rows, uint64_t seed) const;
  // What weighs them: s, or s - log q where that cancels.
  PointScores tilt_scores() const;
  // f(points, numbers of the rows) for blocks of them, standardised.
  template <class Function>
  void for_blocks(std::span<const uint64_t> rows, const Function& f) const {
    std::vector<float> block;
    for (uint64_t first = 0; first < rows.size(); first += kBlock) {
      const auto part = rows.subspan(first, std::min(kBlock, rows.size() - first));
      read(part, block);
      f(Points{block.data(), part.size(), data_.columns()}, part);
    }
  }
  DensityModel release();  // energy, proposal and standardisation; the problem is spent

 private:
  static constexpr uint64_t kBlock = 4096;  // rows looked at together

  void look_at(std::span<const uint64_t> rows, std::span<const uint64_t> valid_rows);
  IntervalCell in_box(const IntervalCell& cell) const;
  void read_inside(std::span<const uint64_t> rows, std::span<float> out) const;
  // Throws Error naming the row for an interval outside the box.
  void check_intervals(std::span<const uint64_t> rows) const;
  ColumnReading reading_of(std::span<const uint64_t> rows) const;
  std::vector<uint32_t> column_levels(const ColumnReading& moments, const std::vector<bool>& is_binary) const;
  void look_at_columns(const ColumnReading& moments, std::vector<uint32_t> levels);
  void require_network(const char* columns) const;
  bool may_be_mixed() const;
  bool has_box() const;
  void check_box(const ColumnReading& moments) const;
  void cut_to_box();
  void resolve_words();
  void fit_proposal(std::span<const uint64_t> rows, std::span<const uint64_t> valid_rows);
  void complete(std::span<const uint64_t> rows, const FitOptions& fit, std::vector<float>& points);
  void choose_proposal(const Points& fitted, std::span<const uint64_t> valid_rows, const FitOptions& fit);
  void build_energy();
  void check_support(std::span<const uint64_t> rows) const;
  bool is_fit() const;  // the proposal is the model
  bool wants_standardisation() const;

  const PointSource& data_;
  DensityOptions options_;
  std::function<void(const std::string&)> say_;
  Support space_;
  std::vector<std::string> warnings_;
  std::string choice_;
  Standardisation standardisation_;
  std::shared_ptr<Density> proposal_;
  std::unique_ptr<Density> completion_;  // what censored coordinates were drawn from last
  LearnableDensity* learnable_ = nullptr;
  std::shared_ptr<const Density> base_;
  std::unique_ptr<Energy> energy_;
  Energy* tilt_ = nullptr;
};

}  // namespace selfnorm

// Fits what rungs of kind nearest need (selfnorm/runtime/ladder_layout.h) on inputs of a model of classes:
// the clusters, their log-masses, and for each rung the tail. Clusters: classes weigh the square root of
// their mean probability. Masses and tails: with masses fitted to one half of the inputs and used on the
// other, both ways, the scatter of a cluster is the root mean square of (G_j - m_j) / q, weighted as in
// cluster_masses.h, and the tails meet the errors that new inputs will have; the masses that are kept are
// fitted to all. Same inputs and options: the same bits.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "model/model_file.h"
#include "normalizer/ladder/cluster_masses.h"
#include "normalizer/ladder/tail_network.h"
#include "selfnorm/runtime/scorer.h"

namespace selfnorm {

struct NearestOptions {
  uint32_t clusters = 0;                   // 0: by the number of classes
  std::vector<double> stops = {};          // of the rungs, falling
  double weight_power = 0.5;               // of a class: its mean probability to this power
  uint64_t iterations = 10, sampled = 32;  // of ClusterOptions
  TailOptions tail = {};
  std::function<void(const std::string& step)> on_step = {};
};

// About 3 sqrt K.
uint32_t default_clusters(uint64_t classes);

// Clusters and masses at once, then a tail for every stop that is asked for.
class NearestFitting {
 public:
  // The model as it is stored, of at least two classes, and its sums, on 100 inputs or more with their exact
  // log Z. Keeps references to all but the sums.
  NearestFitting(const ModelFile& model, const ExactSums& sums, const Features& inputs,
                 std::span<const double> log_z, const NearestOptions& options);

  struct Tail {
    LadderRung rung;            // cost and rms as the inputs say that the tail was not fitted to
    std::vector<double> error;  // of those inputs, a - A
  };
  Tail tail(double stop) const;

  // The last thing to ask for: the copy of the weights, half as large as they are, takes the room of the
  // rest.
  ClassClusters take_clusters();

 private:
  const ModelFile& model_;
  const Features& x_;
  std::span<const double> log_z_;
  NearestOptions options_;
  ClassClusters clusters_;
  std::vector<float> g_, m_;  // log-masses, exact and cross-fitted
  std::vector<double> q_;
};

struct NearestFit {
  ClassClusters clusters;
  std::vector<LadderRung> rungs;  // one a stop
};

NearestFit fit_nearest(const ModelFile& model, const Features& inputs, const NearestOptions& options);

// What rungs of kind nearest give of some inputs, from the masses of all clusters, of which the runtime sums
// those that a rung needs.
class NearestValues {
 public:
  // Keeps references to the clusters and the inputs.
  NearestValues(const ExactSums& sums, const ClassClusters& clusters, const Features& x,
                std::span<const double> log_z);

  std::vector<runtime::Approximation> of(const LadderRung& rung) const;

 private:
  const ClassClusters& clusters_;
  const Features& x_;
  std::vector<float> exact_, fitted_;  // rows x clusters
  std::vector<double> square_;
};

}  // namespace selfnorm

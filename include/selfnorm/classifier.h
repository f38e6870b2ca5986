// Classifiers: p(y|x) = exp(s_y(x) - A(x)) with A(x) = log sum_k exp s_k(x), trained so that A(x) is nearly a
// constant c. A raw log-probability is s_y - c and costs one class, an exact one s_y - A and costs all of
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "selfnorm/error.h"
#include "selfnorm/options.h"
#include "selfnorm/progress.h"
#include "selfnorm/rows.h"

namespace selfnorm {

// On labelled rows, by exact log-normalizers.
struct ClassifierQuality {
  uint64_t rows = 0;
  double accuracy = 0;
  double nll_exact = 0;  // mean of A - s_y
  double nll_raw = 0;    // mean of c - s_y: what raw scores give
  double log_z_rms = 0;  // of A - c: how far raw log-probabilities are off
};

class Classifier {
 public:
  // Labels are as many as rows. Throws Error for data or options that cannot be used, and when `observer`
  // asked to stop.
  static Classifier train(const Rows& x, const std::vector<std::string>& labels, const Options& options = {});
  static Classifier train(const Rows& x, const std::vector<std::string>& labels, const Options& options,
                          TrainObserver& observer);
  // A file of `selfnorm train classifier`, of save(), or the run directory it is in.
  static Classifier load(const std::string& path);
  void save(const std::string& path) const;

  const std::vector<std::string>& labels() const;
  // rows x labels: exact, so that each row's probabilities sum to 1; and raw.
  std::vector<double> log_probabilities(const Rows& x) const;
  std::vector<double> raw_log_probabilities(const Rows& x) const;
  std::vector<std::string> predict(const Rows& x) const;
  ClassifierQuality evaluate(const Rows& x, const std::vector<std::string>& labels) const;

 private:
  struct Content;
  explicit Classifier(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

}  // namespace selfnorm

// Classifiers: p(y|x) = exp(s_y(x) - A(x)) with A(x) = log sum_k exp s_k(x), trained so that A(x) is nearly a
// constant c. A raw log-probability is s_y - c and costs one class, an exact one s_y - A and costs all of
// them; an amortised one is s_y - c - b(x), where the model has a b(x) ~ A(x) - c.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "selfnorm/audit.h"
#include "selfnorm/error.h"
#include "selfnorm/options.h"
#include "selfnorm/rows.h"
#include "selfnorm/run.h"

namespace selfnorm {

enum class ScoreKind { raw, exact, amortised };

// The labels of rows: names, and one of them for each row.
struct Labels {
  std::vector<std::string> names;
  std::vector<uint32_t> index;

  Labels(const std::vector<std::string>& of_rows);  // names in bytewise order
  Labels(std::vector<std::string> named, std::vector<uint32_t> of_rows)
      : names(std::move(named)), index(std::move(of_rows)) {}
};

// On labelled rows, by exact log-normalizers.
struct ClassifierQuality {
  uint64_t rows = 0;
  double accuracy = 0;
  double nll_exact = 0;  // mean of A - s_y
  double nll_raw = 0;    // mean of c - s_y: what raw scores give
  double log_z_rms = 0;  // of A - c: how far raw log-probabilities are off
};

// The best classes of every row, best first.
struct Ranking {
  uint32_t width = 0;           // classes a row
  std::vector<uint32_t> label;  // places in labels()
  std::vector<double> log_probability;
};

// Classes to score, as places in labels(): the same for every row, or as many for each.
struct Candidates {
  std::span<const uint32_t> label;
  bool is_shared = true;
};

// What a model's ladder of log-normalizers was asked to keep: with the confidence, an error of at most
// `within` nats for all but a share rho of inputs.
struct LadderPromise {
  double within = 0, rho = 0, confidence = 0;
};

// Log-probabilities by a rung of the ladder, and what is certified of them: with the confidence,
// |error| <= eps for all but a share rho of inputs.
struct ScoredWithin {
  std::vector<double> log_probability;  // rows x candidates
  std::string rung;                     // "exact": nothing cheaper is certified
  double eps = 0, rho = 0, confidence = 1;
};

struct NormalizedClassifier;

class Classifier {
 public:
  // Holds out a tenth of the rows (of 20 and more) to know when to stop. Chosen by the data where not given,
  // as on the command line (option_list: `chooses`): objective and encoder, and pieces of words of few texts.
  // Throws Error for data or options that cannot be used, Stopped when the observer asked to stop.
  static Classifier train(const Inputs& x, const Labels& labels, const Options& options = {},
                          const Run& run = {});
  // Training by parts, for rows that are not there at once: `before` (null: nothing was learned yet) after
  // one pass of minibatches over these rows of numbers. The names of the labels are all the classes there
  // will be, some of which may have no row. Objectives exact (where no option of an objective or encoder is
  // given), penalty and sampled; dense rows are not standardised. Another optimiser than before starts anew.
  static Classifier train_part(const Classifier* before, const Inputs& x, const Labels& labels,
                               const Options& options = {}, std::span<const float> weights = {});
  // A file of `selfnorm train classifier`, of save(), or the run directory it is in. Rows for a model of
  // tables are of the columns that its encoder makes, and models of alternatives are the program's.
  static Classifier load(const std::string& path);
  void save(const std::string& path) const;

  const std::vector<std::string>& labels() const;
  uint32_t columns() const;  // of rows
  bool is_of_texts() const;  // rather than rows
  bool has_amortised() const;
  // rows x labels. Exact ones sum to 1 in each row.
  std::vector<double> log_probabilities(const Inputs& x, ScoreKind kind = ScoreKind::exact) const;
  // rows x labels, exact: every row sums to 1.
  std::vector<double> probabilities(const Inputs& x) const;
  std::vector<double> raw_log_probabilities(const Inputs& x) const {
    return log_probabilities(x, ScoreKind::raw);
  }
  // A(x) - c of every row.
  std::vector<double> log_normalizers(const Inputs& x) const;
  // rows x candidates. Raw ones cost one class each.
  std::vector<double> score(const Inputs& x, const Candidates& candidates, ScoreKind kind) const;
  // By the cheapest rung that is certified within `eps` nats for all but a share rho of inputs, with the
  // confidence of the promise; what is not given is the promise's, too.
  ScoredWithin score_within(const Inputs& x, const Candidates& candidates, std::optional<double> eps = {},
                            std::optional<double> rho = {}) const;
  LadderPromise promise() const;
  std::vector<std::string> predict(const Inputs& x) const;
  std::vector<uint32_t> predict_index(const Inputs& x) const;
  Ranking top(const Inputs& x, uint32_t width, ScoreKind kind = ScoreKind::exact) const;
  ClassifierQuality evaluate(const Inputs& x, const Labels& labels) const;
  // Options are eps, rho, confidence, ... (option_list("audit")); labels may be null.
  AuditReport audit(const Inputs& x, const Labels* labels = nullptr, const Options& options = {},
                    ScoreKind kind = ScoreKind::raw) const;
  // The model with the same probabilities whose log Z varies least on rows like these; a tenth of them
  // measures what came of it.
  NormalizedClassifier normalized(const Inputs& x) const;

 private:
  struct Content;
  std::vector<double> scored(const Inputs& x, const Candidates& candidates, int kind) const;
  explicit Classifier(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

struct NormalizedClassifier {
  Classifier model;
  AuditReport before, after;  // on the rows held out
};

}  // namespace selfnorm

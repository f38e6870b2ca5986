#include "experiments/papers/open_questions.h"

#include <fmt/format.h>

namespace selfnorm {

Record run_open_questions(const ExperimentOptions& options) {
  using Question = Answer (*)(const ExperimentOptions&, const std::function<void(double)>&);
  const std::vector<Question> questions = {tightness_of_theorem2, stability_of_hardness, easy_inputs};
  Record out;
  out.name = "open-questions";
  out.title = "what the paper leaves open";
  out.looks = {
      "The paper asks and does not measure: (a) near 1 the bound is tight, (b) near 1 the construction is "
      "stable, (c) the higher, the less of Var A can be removed without loss."};
  out.paper =
      "Section 6 asks how else approximately normalisable distributions can be characterised (by spectral or "
      "sparsity conditions), whether the bounds of Theorem 2 are tight, and whether the hard distribution of "
      "Theorem 4 is stable.";
  out.differences = "The paper asks and does not measure; there is nothing to compare with.";
  out.settings = {{"seed", std::to_string(options.seed)}};
  out.data.columns = {"question", "family", "parameter", "value", "low", "high"};
  out.figure.title = "Open questions of the paper, measured";
  for (size_t q = 0; q < questions.size(); ++q) {
    const double done = static_cast<double>(q), all = static_cast<double>(questions.size());
    Answer answer = questions[q](options, [&](double share) { options.progress((done + share) / all); });
    out.measured += fmt::format("{}({}) {}", q > 0 ? " " : "", static_cast<char>('a' + q), answer.text);
    for (auto& row : answer.rows) {
      row.insert(row.begin(), answer.question);
      out.data.add(std::move(row));
    }
    for (auto& fact : answer.facts) out.facts.push_back(std::move(fact));
    out.figure.panels.push_back(std::move(answer.panel));
    out.tables.push_back(std::move(answer.table));
    options.progress((done + 1) / all);
  }
  return out;
}

}  // namespace selfnorm

#include "experiments/document.h"

#include <fmt/format.h>

#include <algorithm>

namespace selfnorm {
namespace {

struct Introduction {
  const char* heading;   // and where the document comes from
  const char* notation;  // its lines as they stand in the document
};

constexpr Introduction kPapers = {
    "# Reproduction\n\nWritten by `selfnorm reproduce`; do not edit. ",
    "Notation and sources ([ARJK], [AK], [D]) are those of the\npapers: Andreas, Rabinovich, Jordan, Klein "
    "2015; Andreas & Klein 2015; Devlin et al. 2014. A is the\nlog-normalizer log Z, delta bounds its root "
    "mean square about log K, K is the number of classes, and all\nlikelihoods are in nats per example."};

constexpr Introduction kDensity = {
    "# Energy-based densities, measured\n\nWritten by `selfnorm reproduce density`; do not edit. ",
    "A model is p(x) = exp(s(x)) / Z; s is a network (or an\nexponential family) that tilts the proposal, b "
    "is what training believes of log Z, and all likelihoods are in\nnats per row. The gap is the mean of "
    "log p_true(x) - log p_model(x) over test points of a known distribution:\nits expectation is that of "
    "the test NLL minus the true entropy, KL(true || model) >= 0, with less noise because\nthe same points "
    "enter both. Which estimate of log Z was used stands beside each table; it is never b. Numbers\nare mean "
    "+- standard error over the seeds. MET and MISSED are computed. Seconds are of the machine that "
    "wrote\nthis and for information."};

constexpr Introduction kRegression = {
    "# Energy-based regression, measured\n\nWritten by `selfnorm reproduce regression`; do not edit. ",
    "A model is p(y|x) = exp(s(x, y) - A(x)) for real y; s is\na network that tilts a mixture density "
    "network, the proposal, and b(x) is a small network that stands for A(x).\nNLL and CRPS are means over "
    "test rows, NLL in nats and the units of the data; how A(x) was computed stands beside\neach table, it "
    "is never b(x). Numbers are mean +- standard error over the seeds or splits. MET, MISSED, won and\nlost "
    "are computed. Seconds are of the machine that wrote this and for information."};

constexpr Introduction kSequences = {
    "# Sequences, measured\n\nWritten by `selfnorm reproduce sequences`; do not edit. ",
    "A model is a linear-chain conditional random field,\np(y|x) = exp(s(x, y) - A(x)) for the labels y of a "
    "sentence x of T tokens. The score s is a sum over\ntokens, O(T); the log-normalizer A(x) sums over all "
    "labellings by the forward recursion, O(T L^2) for\nL labels. Exact log-probabilities are s - A. Raw "
    "ones are s itself, and s - b(x) of a model with an\namortised b(x), a linear function of the "
    "attributes: on every sentence they are off by A, or A - b, which\nis what A means in the tables. "
    "Log-likelihoods are in nats per token. Seconds are of the machine that wrote\nthis and for "
    "information.\n\nWhat to conclude:\n- The best labelling of a sentence, and the order of several, need "
    "no A: it is the same for all of them. What A\n  is for are probabilities as numbers: to compare "
    "sentences, to apply a threshold, to add to other log-probabilities.\n- There a raw score saves the "
    "forward recursion, a factor that grows with the labels, and is off by A.\n- A penalty makes that error "
    "many times smaller at little or no cost in likelihood, until alpha is large.\n- So does `normalize` for "
    "an exact model that exists, nearly as far, at no cost at all.\n- On new sentences the error stays of "
    "the order of nats a sentence and grows with its length, more than on those\n  trained on: measure it by "
    "`audit`, do not take it for 0."};

const Introduction& introduction(const std::string& group) {
  if (group == "papers") return kPapers;
  if (group == "density") return kDensity;
  return group == "regression" ? kRegression : kSequences;
}

// A bar would end a cell.
std::string cell_text(const Cell& cell) {
  std::string out;
  for (const char c : written(cell)) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string table_text(const Table& table) {
  std::string out = table.caption.empty() ? "" : table.caption + "\n\n";
  const auto line = [&out](const auto& cells) {
    out += "|";
    for (const auto& cell : cells) out += " " + cell_text(cell) + " |";
    out += "\n";
  };
  line(table.columns);
  out += "|";
  for (size_t i = 0; i < table.columns.size(); ++i) out += "---|";
  out += "\n";
  for (const auto& row : table.rows) line(row);
  return out + "\n";
}

}  // namespace

std::string document_section(const Record& record, const std::string& figures, const std::string& group) {
  const bool is_paper = group == "papers";
  std::string out = fmt::format("## {}: {}\n\n", record.name, record.title);
  if (!record.figure.panels.empty())
    out += fmt::format("![{}]({}/{}.svg)\n\n", record.title, figures, record.name);
  for (const auto& [suffix, figure] : record.more_figures)
    out += fmt::format("![{}]({}/{}-{}.svg)\n\n", figure.title, figures, record.name, suffix);
  out += fmt::format("**{}.** {}\n\n", is_paper ? "The paper says" : "Asked", record.paper);
  out += fmt::format("**Measured.** {}\n\n", record.measured);
  out += fmt::format("**{}.** {}\n\n", is_paper ? "Differences" : "How", record.differences);
  for (const Table& table : record.tables) out += table_text(table);
  out += "Settings: ";
  std::string separator;
  for (const auto& [name, value] : record.settings) {
    out += fmt::format("{}{} {}", separator, name, value);
    separator = "; ";
  }
  out += fmt::format(". All numbers: [{0}.csv]({1}/{0}.csv), [{0}.json]({1}/{0}.json).\n\n", record.name,
                     figures);
  return out;
}

std::string group_notation(const std::string& group) {
  std::string out = introduction(group).notation;
  std::ranges::replace(out, '\n', ' ');
  return out;
}

std::string document_text(const std::string& group, const std::vector<Record>& records,
                          const std::string& figures) {
  std::string out = std::string(introduction(group).heading) + introduction(group).notation + "\n\n";
  for (const Record& record : records) out += document_section(record, figures, group);
  out.pop_back();
  return out;
}

}  // namespace selfnorm

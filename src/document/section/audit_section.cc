#include "document/section/audit_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "document/section/audit_figures.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr const char* kExactSource = "exact log Z of every input";
constexpr int kCertificateDigits = 2, kFactorDigits = 3;
constexpr double kLargestUsefulError = 0.5;  // of log-probabilities that are said to be certified
constexpr double kSmallest = 1e-300;         // whose digits have units

constexpr int kCardDigits = 4;
constexpr int kMostDigits = 17;  // tell any two doubles apart

// "99% of inputs", all but a share; of one too small for 1 - share to tell, "all but 1e-20% of inputs".
std::string inputs_without(double share) {
  const std::string rest = percent(1 - share);
  return (share > 0 && rest == "100%" ? "all but " + percent(share) : rest) + " of inputs";
}

ReportCard number_card(std::string id, std::string label, double number, std::string source) {
  return {std::move(id), std::move(label), written(number), number, std::move(source)};
}

ReportCard share_card(std::string id, std::string label, double share, std::string source) {
  return {std::move(id), std::move(label), percent(share, kCardDigits), share, std::move(source)};
}

constexpr size_t kMostClassesShown = 100'000;  // words of a language model are no classes to look at

void add_likelihood(const LabelledAudit& labelled, const std::string& kind, ReportDocument& document) {
  std::vector<ReportCard>& cards = document.cards;
  note_unseen(labelled.unseen, "inputs", document);
  cards.push_back(number_card("nll_exact", "NLL, exact", labelled.nll_exact, kExactSource));
  if (labelled.nll_amortised)
    cards.push_back(number_card("nll_amortised", "NLL, amortised", *labelled.nll_amortised,
                                "scores less c and b(x), which stand for log Z"));
  else
    cards.push_back(
        number_card("nll_raw", "NLL, raw", labelled.nll_raw, "raw scores less c, which stands for log Z"));
  cards.push_back(share_card("accuracy", "Accuracy", labelled.accuracy,
                             "scores alone: normalising does not change the best output"));
  cards.push_back(number_card(
      "ece", fmt::format("Calibration of predictions, {}", kind), labelled.ece,
      fmt::format("expected calibration error of the best outputs by {} probabilities, 15 bins: whether "
                  "predictions come true as often as they say",
                  kind)));
  cards.push_back(number_card("ece_exact", "Calibration of predictions, exact", labelled.ece_exact,
                              "the same by exact probabilities, so without any error of the normalizer"));
}

// What a bound in nats is for probabilities.
std::string factor_words(const Certificate& c) {
  return c.smallest_eps ? fmt::format("nats from the exact ones, so probabilities within a factor of {}; ",
                                      rounded_up(std::exp(*c.smallest_eps), kFactorDigits))
                        : "";
}

// A certificate speaks of inputs that had no part in the model.
void add_certificate(const Certificate& c, const AuditNames& names, ReportDocument& document) {
  if (names.part == RowsPart::kTrained) {
    document.cards.push_back({"certificate", "Certificate of the normalizer",
                              "none: the model was trained on these inputs", std::nullopt, ""});
    document.notes.push_back(
        "The model was trained on the inputs shown, so they tell nothing about other inputs and nothing is "
        "certified; 'selfnorm audit' takes others.");
    return;
  }
  if (names.part == RowsPart::kChoseStep)
    document.notes.push_back(
        "The inputs shown chose the step of training and the constant c, so likelihood and certificate are a "
        "little optimistic; 'selfnorm audit' takes others.");
  document.cards.push_back(
      certificate_card(c, names.kind, factor_words(c) + certificate_source("exact log Z", names.part)));
  if (c.certified || !names.is_requested) return;
  document.notes.push_back(
      fmt::format("Not certified: that at most {} of inputs have {} log-probabilities with an error above "
                  "{:.6g}, with {} confidence. {} of {} audited inputs have a larger one.",
                  percent(c.rho), names.kind, c.eps, percent(c.confidence), c.exceed, c.n));
}

constexpr uint32_t kFirstColour = 3;  // after those of the audit

ReportFigure& histogram_of(ReportSection& section) {
  const auto found = std::ranges::find(section.figures, "log_z_histogram", &ReportFigure::id);
  SELFNORM_CHECK(found != section.figures.end());
  return *found;
}

// The outline of the bars, from 0 to 0.
Series outline(const NormalizationState& state, uint32_t colour) {
  Series out{.name = state.name, .x = {}, .y = {}, .stroke = Stroke::line, .colour = colour};
  const auto add = [&out](double x, double y) {
    out.x.push_back(x);
    out.y.push_back(y);
  };
  const std::vector<HistogramBin>& bins = state.audit->histogram;
  add(bins.front().from, 0);
  for (const HistogramBin& bin : bins) {
    add(bin.from, static_cast<double>(bin.count));
    add(bin.to, static_cast<double>(bin.count));
  }
  add(bins.back().to, 0);
  return out;
}

void widen(const Series& line, Axis& axis) {
  if (axis.low) axis.low = std::min(*axis.low, line.x.front());
  if (axis.high) axis.high = std::max(*axis.high, line.x.back());
}

ReportTable state_table(const std::vector<NormalizationState>& states) {
  const auto all_have = [&states](std::optional<double> NormalizationState::*number) {
    return std::ranges::all_of(states, [number](const auto& s) { return (s.*number).has_value(); });
  };
  const bool has_tokens = all_have(&NormalizationState::rms_per_token);
  const bool has_labels = all_have(&NormalizationState::nll_exact);
  Table table{.caption = "Step by step", .columns = {"state", "mean", "variance", "rms", "largest size"}};
  if (has_tokens) table.columns.push_back("rms a token");
  if (has_labels) table.columns.push_back("NLL, exact");
  for (const NormalizationState& state : states) {
    const LogZStatistics& z = state.audit->log_z;
    std::vector<Cell> row{state.name, z.mean + 0.0, z.std * z.std, z.rms,
                          std::max(std::abs(z.min), std::abs(z.max))};
    if (has_tokens) row.emplace_back(*state.rms_per_token);
    if (has_labels) row.emplace_back(*state.nll_exact);
    table.add(std::move(row));
  }
  return {.id = "normalization_states",
          .look =
              "Exact log Z - c of the held-out inputs after every step: variance and rms should fall, and "
              "the likelihood should stay.",
          .table = std::move(table)};
}

}  // namespace

void add_variance(const GaugeVariance& audit, ReportDocument& document) {
  if (!audit.v_star) return;
  std::string source =
      fmt::format("{}; the best lossless shift leaves V* = {}", kExactSource, written(*audit.v_star));
  if (!audit.v_star_adjusted)
    source += ", fitted with no more inputs than directions, so it says nothing here";
  else if (*audit.v_star_adjusted > 1.05 * *audit.v_star)
    source += fmt::format(", {} allowing for the directions fitted", written(*audit.v_star_adjusted));
  document.cards.push_back(number_card("variance", "Variance of log Z", audit.variance, std::move(source)));
}

std::string percent(double share, int digits) {
  std::string text;
  for (; digits <= kMostDigits; ++digits) {
    text = fmt::format("{:.{}g}%", 100 * share, digits);
    if (text != "100%" || share == 1) break;
  }
  return text;
}

std::string certificate_source(const std::string& computed_by, RowsPart part) {
  return computed_by + "; holds if the inputs are independent" +
         (part == RowsPart::kChoseStep ? ", but for their part in the choice of the step"
                                       : " and had no part in the model");
}

std::string rounded_up(double value, int digits) {
  SELFNORM_CHECK(value >= 0 && digits >= 1);
  if (value == 0 || !std::isfinite(value)) return fmt::format("{:g}", value);
  value = std::max(value, kSmallest);
  const double unit = std::pow(10, std::floor(std::log10(value)) - (digits - 1));
  std::string text;
  // A nearest double may lie below the decimal, or the decimal below the value.
  for (double steps = std::ceil(value / unit) - 1; text.empty() || std::stod(text) < value; ++steps)
    text = fmt::format("{:.{}g}", steps * unit, digits);
  return text;
}

std::string certificate_words(const Certificate& c, const std::string& kind) {
  if (c.smallest_eps)
    return fmt::format("with {} confidence, {} have {} log-probabilities within {}", percent(c.confidence),
                       inputs_without(c.rho), kind, rounded_up(*c.smallest_eps, kCertificateDigits));
  const std::string claim =
      fmt::format("a bound for {} with {} confidence", inputs_without(c.rho), percent(c.confidence));
  if (c.n < c.inputs_needed())
    return fmt::format("none: {} inputs are too few for {}; at least {} are needed", c.n, claim,
                       c.inputs_needed());
  return fmt::format("none: too many errors are not known well enough for {}", claim);
}

ReportCard certificate_card(const Certificate& c, const std::string& kind, const std::string& source) {
  const bool is_far = c.smallest_eps && *c.smallest_eps > kLargestUsefulError;
  ReportCard card{"certificate", "Certificate of the normalizer", certificate_words(c, kind), c.smallest_eps,
                  source};
  if (!is_far) return card;
  card.value = fmt::format(
      "not normalised well enough: {} of inputs may have {} log-probabilities that are off by {}, a factor "
      "of {} in probabilities; use exact ones, or normalise the model",
      percent(c.rho), kind, rounded_up(*c.smallest_eps, kCertificateDigits),
      rounded_up(std::exp(*c.smallest_eps), kCertificateDigits));
  card.tone = "bad";
  return card;
}

void add_audit(const Audit& given, const AuditNames& names, ReportDocument& document) {
  Audit audit = given;
  if (names.part == RowsPart::kTrained) audit.certificate.smallest_eps.reset();
  const bool is_amortised = names.kind == "amortised";
  const std::string error = is_amortised ? "log Z - c - b(x)" : "log Z - c";
  const ErrorNames errors{names.kind, error, "exact " + error};
  if (!names.data.empty()) document.cards.push_back({"data", "Data", names.data, std::nullopt, "audited"});
  document.cards.push_back(
      {"inputs", "Inputs", fmt::format("{}", fmt::group_digits(audit.n)), static_cast<double>(audit.n),
       fmt::format("log Z of each by enumeration of up to {} outputs", fmt::group_digits(audit.classes))});
  if (audit.labelled)
    add_likelihood(*audit.labelled, names.kind, document);
  else
    document.notes.push_back("Not all inputs have labels, so there is no likelihood and no calibration.");
  document.cards.push_back(
      number_card("rms_log_z", "rms log Z", audit.log_z.rms,
                  fmt::format("of A(x) - c{}, {}", is_amortised ? " - b(x)" : "", kExactSource)));
  document.cards.push_back(
      share_card("above_one", "\"Probability\" above 1", audit.above_one,
                 fmt::format("inputs whose best output gets one by its {} score", names.kind)));
  add_variance(audit, document);
  add_certificate(audit.certificate, names, document);
  ReportSection& section = document.section("Normalisation");
  section.figures.push_back(error_histogram(audit, errors));
  if (const auto norm = only_norm(audit))
    document.notes.push_back(
        fmt::format("There is no figure of errors against the {}: all are {}.", names.norm, written(*norm)));
  else
    section.figures.push_back(error_by_norm(audit, errors, names.norm));
  section.figures.push_back(error_by_confidence(audit, errors));
  section.figures.push_back(audited_by_exact(audit, errors));
  section.tables.push_back(quantile_table(audit, errors));
  if (!audit.worst_inputs.empty()) section.tables.push_back(worst_table(audit, errors, names));
  if (!audit.labelled) return;
  ReportSection& calibration = document.section("Calibration");
  calibration.figures.push_back(reliability(*audit.labelled, errors));
  calibration.figures.push_back(rejection(*audit.labelled));
  const Confusion& confusion = audit.labelled->confusion;
  if (confusion.classes.empty() || confusion.classes.size() > kMostClassesShown) return;
  ReportSection& classes = document.section("Classes");
  classes.tables.push_back(class_table(confusion, names));
  if (!confusion.pairs.empty()) classes.tables.push_back(confusion_table(confusion, names));
}

void add_errors(const ErrorAudit& audit, const std::string& kind, ReportDocument& document) {
  const ErrorNames errors{kind, "error", fmt::format("error of {} log-probabilities", kind)};
  ReportSection& section = document.section("Normalisation");
  section.figures.push_back(error_histogram(audit, errors));
  section.tables.push_back(quantile_table(audit, errors));
  if (!audit.worst.empty()) section.tables.push_back(worst_table(audit, errors));
}

void add_states(const std::vector<NormalizationState>& states, ReportDocument& document) {
  SELFNORM_CHECK(!states.empty());
  ReportSection& section = document.section("Normalisation");
  ReportFigure& histogram = histogram_of(section);
  Panel& panel = histogram.figure.panels.front();
  for (Series& series : panel.series)
    if (series.stroke == Stroke::bars) series.name = states.back().name;
  for (size_t i = 0; i + 1 < states.size(); ++i) {
    panel.series.push_back(outline(states[i], kFirstColour + static_cast<uint32_t>(i)));
    widen(panel.series.back(), panel.x);
  }
  histogram.look +=
      " Lines are the same inputs at earlier steps; every step has bins of its own width, so compare where "
      "they are and how wide, not how high.";
  section.tables.insert(section.tables.begin(), state_table(states));
}

}  // namespace selfnorm

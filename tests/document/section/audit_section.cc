#include "document/section/audit_section.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "document/point_cloud.h"
#include "math/random.h"
#include "random_head.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

const ReportCard* card_of(const ReportDocument& document, const std::string& id) {
  for (const ReportCard& card : document.cards)
    if (card.id == id) return &card;
  return nullptr;
}

const ReportFigure& figure_of(const ReportDocument& document, const std::string& id) {
  for (const ReportSection& section : document.sections)
    for (const ReportFigure& figure : section.figures)
      if (figure.id == id) return figure;
  throw Error("no figure " + id);
}

const Table& table_of(const ReportDocument& document, const std::string& id) {
  for (const ReportSection& section : document.sections)
    for (const ReportTable& table : section.tables)
      if (table.id == id) return table.table;
  throw Error("no table " + id);
}

const Panel& panel_of(const ReportDocument& document, const std::string& id) {
  return figure_of(document, id).figure.panels.at(0);
}

const Series& series_of(const Panel& panel, Stroke stroke, size_t skipped = 0) {
  for (const Series& series : panel.series)
    if (series.stroke == stroke && skipped-- == 0) return series;
  throw Error("no such series");
}

double number(const Cell& cell) { return std::get<double>(cell); }
std::string text(const Cell& cell) { return std::get<std::string>(cell); }

// p(y|x) of three classes by direct computation.
struct Input {
  double error = 0, norm = 0, exact[3] = {}, audited[3] = {};
  uint32_t best = 0, target = 0;
};

struct Enumerated {
  ModelFile model = random_head(3, 2, 21, 0.7);
  Dataset data;
  std::vector<Input> inputs;

  Enumerated(uint64_t n, double c) {
    model.log_normalizer = c;
    data = random_dataset({.rows = n, .features = 2, .classes = 3}, 22);
    for (uint64_t i = 0; i < n; ++i) {
      Input input{.target = data.target[i]};
      double s[3];
      LogSumExp sum;
      const auto x = data.features.dense.row(i);
      for (uint32_t k = 0; k < 3; ++k) {
        s[k] = static_cast<double>(model.bias[k]);
        for (uint32_t j = 0; j < 2; ++j)
          s[k] += static_cast<double>(model.weight[2 * k + j]) * static_cast<double>(x[j]);
        sum.add(s[k]);
      }
      for (uint32_t k = 0; k < 3; ++k) {
        input.exact[k] = std::exp(s[k] - sum.value());
        input.audited[k] = std::exp(s[k] - c);
      }
      input.best = static_cast<uint32_t>(std::max_element(s, s + 3) - s);
      input.error = sum.value() - c;
      input.norm = std::hypot(static_cast<double>(x[0]), static_cast<double>(x[1]));
      inputs.push_back(input);
    }
  }
  Audit audited(const AuditOptions& options = {}) const {
    return audit(model, *make_example_source(data), options);
  }
  double mean(const std::function<double(const Input&)>& of) const {
    double sum = 0;
    for (const Input& input : inputs) sum += of(input);
    return sum / static_cast<double>(inputs.size());
  }
};

ReportDocument document_of(const Audit& audit, const AuditNames& names) {
  ReportDocument out{.name = "m", .command = "audit", .title = "t"};
  add_audit(audit, names, out);
  for (const ReportSection& section : out.sections)
    for (const ReportFigure& figure : section.figures) EXPECT_FALSE(figure.look.empty()) << figure.id;
  EXPECT_EQ(document_text(out).find("-0.0000"), std::string::npos);
  EXPECT_EQ(document_text(parse_document(document_text(out), "here")), document_text(out));
  return out;
}

TEST(AuditSection, CardsAreThoseOfTheEnumeration) {
  const Enumerated e(600, 0.9);
  const ReportDocument document = document_of(e.audited(), {.kind = "raw", .data = "d.csv"});
  const auto expect = [&](const char* id, double value) {
    const ReportCard* card = card_of(document, id);
    ASSERT_NE(card, nullptr) << id;
    EXPECT_NEAR(*card->number, value, 1e-5) << id;
    EXPECT_FALSE(card->source.empty() || card->value.empty() || card->label.empty()) << id;
  };
  EXPECT_EQ(card_of(document, "data")->value, "d.csv");
  EXPECT_EQ(card_of(document, "inputs")->value, "600");
  expect("inputs", 600);
  expect("nll_exact", e.mean([](const Input& i) { return -std::log(i.exact[i.target]); }));
  expect("nll_raw", e.mean([](const Input& i) { return -std::log(i.audited[i.target]); }));
  EXPECT_EQ(card_of(document, "nll_exact")->source, "exact log Z of every input");
  EXPECT_EQ(card_of(document, "nll_amortised"), nullptr);
  expect("rms_log_z", std::sqrt(e.mean([](const Input& i) { return i.error * i.error; })));
  expect("accuracy", e.mean([](const Input& i) { return i.best == i.target ? 1.0 : 0.0; }));
  expect("above_one", e.mean([](const Input& i) { return i.audited[i.best] > 1 ? 1.0 : 0.0; }));
  const double mean = e.mean([](const Input& i) { return i.error; });
  expect("variance", e.mean([&](const Input& i) { return (i.error - mean) * (i.error - mean); }));
  std::vector<double> sizes;
  for (const Input& input : e.inputs) sizes.push_back(std::abs(input.error));
  std::sort(sizes.rbegin(), sizes.rend());
  expect("certificate", sizes[0]);  // of 600 inputs none may exceed it: 0.99^600 < 0.01 < P(<= 1 of 600)
  EXPECT_TRUE(document.notes.size() == 1 && document.notes[0].starts_with("Not certified: that at most 1%"));
}

TEST(AuditSection, FiguresAreThoseOfTheEnumeration) {
  const Enumerated e(600, 0.9);
  const Audit audit = e.audited();
  const ReportDocument document = document_of(audit, {.kind = "raw", .data = "d.csv"});
  const Series &by_norm = series_of(panel_of(document, "log_z_norm"), Stroke::points),
               &by_confidence = series_of(panel_of(document, "log_z_confidence"), Stroke::points),
               &by_exact = series_of(panel_of(document, "raw_exact"), Stroke::points);
  ASSERT_EQ(by_norm.x.size(), 600u);
  for (size_t i = 0; i < 600; ++i) {
    const Input& input = e.inputs[i];
    EXPECT_NEAR(by_norm.x[i], input.norm, 1e-12);
    EXPECT_NEAR(by_norm.y[i], input.error, 1e-5);
    EXPECT_EQ(by_norm.labels[i], "input " + std::to_string(i));
    EXPECT_NEAR(by_confidence.x[i], input.exact[input.best], 1e-5);
    EXPECT_NEAR(by_confidence.y[i], input.error, 1e-5);
    EXPECT_NEAR(by_exact.x[i], input.exact[input.target], 1e-5);
    EXPECT_NEAR(by_exact.y[i], input.audited[input.target], 1e-5);
  }
  EXPECT_EQ(panel_of(document, "log_z_confidence").x.low, 0);
  EXPECT_EQ(panel_of(document, "raw_exact").x.label, "exact probability of the true output");
  EXPECT_EQ(panel_of(document, "raw_exact").y.label, "raw probability of the true output");

  const Panel& histogram = panel_of(document, "log_z_histogram");
  const Series& bars = series_of(histogram, Stroke::bars);
  ASSERT_EQ(bars.x.size(), 20u);
  for (size_t b = 0; b < 20; ++b) {
    const auto inside = std::count_if(e.inputs.begin(), e.inputs.end(), [&](const Input& input) {
      return (b == 0 || input.error >= bars.x[b]) && (b == 19 || input.error < bars.x_end[b]);
    });
    EXPECT_NEAR(bars.y[b], static_cast<double>(inside), 1);  // float scores at an edge
  }
  const Series& band = series_of(histogram, Stroke::bands);
  EXPECT_EQ(band.x, std::vector<double>{-*audit.certificate.smallest_eps});
  EXPECT_EQ(band.x_end, std::vector<double>{*audit.certificate.smallest_eps});
  EXPECT_EQ(series_of(histogram, Stroke::rules).x,
            (std::vector<double>{audit.log_z.q01, audit.log_z.q50, audit.log_z.q99}));
  EXPECT_EQ(series_of(histogram, Stroke::rules, 1).x, std::vector<double>{0});
  EXPECT_LE(*histogram.x.low, band.x[0]);
  EXPECT_GE(*histogram.x.high, band.x_end[0]);
}

TEST(AuditSection, ReliabilityIsThatOfTheEnumeration) {
  const Enumerated e(600, 0.9);
  const ReportDocument document = document_of(e.audited(), {.kind = "raw", .data = ""});
  EXPECT_EQ(card_of(document, "data"), nullptr);
  EXPECT_EQ(document.sections.back().title, "Classes");
  const Panel& panel = panel_of(document, "reliability");
  const auto check = [&](const Series& series, const char* card, auto of) {
    size_t place = 0;
    double error = 0;
    for (int b = 0; b < 15; ++b) {
      double n = 0, confidence = 0, correct = 0;
      for (const Input& input : e.inputs) {
        const double p = of(input);
        if (std::min(14, static_cast<int>(15 * p)) != b) continue;
        ++n;
        confidence += p;
        correct += input.best == input.target ? 1 : 0;
      }
      if (n == 0) continue;
      ASSERT_LT(place, series.x.size());
      EXPECT_NEAR(series.x[place], confidence / n, 1e-5);
      EXPECT_NEAR(series.y[place], correct / n, 1e-12);
      // Variance of Beta(a, b): a b / ((a + b)^2 (a + b + 1)).
      EXPECT_NEAR(series.error[place],
                  std::sqrt((correct + 1) * (n - correct + 1) / ((n + 2) * (n + 2) * (n + 3))), 1e-12);
      EXPECT_EQ(series.labels[place], std::to_string(static_cast<int>(n)) + (n == 1 ? " input" : " inputs"));
      error += std::abs(correct - confidence) / 600;
      ++place;
    }
    EXPECT_EQ(place, series.x.size());
    EXPECT_NEAR(*card_of(document, card)->number, error, 1e-5);
  };
  check(series_of(panel, Stroke::marks, 0), "ece", [](const Input& i) { return i.audited[i.best]; });
  check(series_of(panel, Stroke::marks, 1), "ece_exact", [](const Input& i) { return i.exact[i.best]; });
}

// Scores far too large: the mark is at the end of the axis and says where it belongs.
TEST(AuditSection, ReliabilityOfProbabilitiesFarAboveOne) {
  const Enumerated e(200, -10);
  const Audit audit = e.audited();
  const ReportDocument document = document_of(audit, {.kind = "raw", .data = ""});
  const Panel& panel = panel_of(document, "reliability");
  const Series& marks = series_of(panel, Stroke::marks);
  EXPECT_EQ(marks.x, std::vector<double>{2});
  EXPECT_EQ(marks.labels[0],
            "200 inputs, mean \"probability\" " + written(audit.labelled->bins.back().confidence));
  EXPECT_NE(panel.x.label.find("2 stands for all beyond"), std::string::npos);
  EXPECT_EQ(*panel_of(document, "raw_exact").x.high, 1);
  EXPECT_GT(*panel_of(document, "raw_exact").y.high, 1000);
}

TEST(AuditSection, WorstInputsWithTheirLabelsAsTheyAre) {
  const Enumerated e(50, 0.9);
  const std::vector<std::string> labels = {"<script>alert(1)</script>", "b & \"c\"", ""};
  const ReportDocument document =
      document_of(e.audited({.worst = 4}), {.kind = "raw", .data = "", .labels = labels});
  const Table& table = table_of(document, "worst");
  ASSERT_EQ(table.columns.size(), 7u);
  ASSERT_EQ(table.rows.size(), 4u);
  double before = INFINITY;
  for (const std::vector<Cell>& row : table.rows) {
    const Input& input = e.inputs[static_cast<size_t>(number(row[0]))];
    EXPECT_NEAR(number(row[1]), input.error, 1e-5);
    EXPECT_EQ(text(row[2]), labels[input.best]);
    EXPECT_NEAR(number(row[3]), input.exact[input.best], 1e-5);
    EXPECT_NEAR(number(row[4]), input.audited[input.best], 1e-5);
    EXPECT_EQ(text(row[5]), labels[input.target]);
    EXPECT_NEAR(number(row[6]), input.norm, 1e-12);
    EXPECT_LE(std::abs(number(row[1])), before);
    before = std::abs(number(row[1]));
  }
  EXPECT_EQ(table_of(document, "log_z_quantiles").rows.size(), 11u);
  // Numbers where classes have no labels.
  const ReportDocument bare = document_of(e.audited({.worst = 1}), {.kind = "raw", .data = ""});
  EXPECT_EQ(number(table_of(bare, "worst").rows[0][2]),
            e.inputs[static_cast<size_t>(number(table_of(bare, "worst").rows[0][0]))].best);
}

TEST(AuditSection, InputsWithoutLabels) {
  Enumerated e(50, 0.9);
  e.data.target.assign(50, Dataset::kNoTarget);
  const ReportDocument document = document_of(e.audited(), {.kind = "raw", .data = ""});
  for (const char* id : {"nll_exact", "nll_raw", "accuracy", "ece", "ece_exact"})
    EXPECT_EQ(card_of(document, id), nullptr);
  ASSERT_EQ(document.sections.size(), 1u);
  EXPECT_EQ(table_of(document, "worst").columns.size(), 6u);
  EXPECT_EQ(panel_of(document, "raw_exact").x.label, "exact probability of the best output");
  const Series& points = series_of(panel_of(document, "raw_exact"), Stroke::points);
  for (size_t i = 0; i < 50; ++i) EXPECT_NEAR(points.y[i], e.inputs[i].audited[e.inputs[i].best], 1e-5);
}

TEST(AuditSection, OneInputAndIdenticalInputs) {
  for (const uint64_t n : {uint64_t{1}, uint64_t{30}, uint64_t{2000}}) {
    Enumerated e(n, 0.9);
    e.data.features.dense.values.assign(2 * n, 0);
    const ReportDocument document = document_of(e.audited(), {.kind = "raw", .data = ""});
    const Series& bars = series_of(panel_of(document, "log_z_histogram"), Stroke::bars);
    ASSERT_EQ(bars.x.size(), 1u);
    EXPECT_LT(bars.x[0], bars.x_end[0]);
    EXPECT_EQ(bars.y[0], static_cast<double>(n));
    EXPECT_EQ(!document.notes.empty() && document.notes.back().find("all are 0") != std::string::npos,
              n > 1);  // norms, so that there is no figure
    for (const char* id : {"log_z_confidence", "raw_exact"}) {
      const Panel& panel = panel_of(document, id);
      EXPECT_LT(*panel.x.low, *panel.x.high);
      EXPECT_LT(*panel.y.low, *panel.y.high);
      EXPECT_EQ(panel.heat.value.empty(), n <= kMostDrawn);
    }
  }
}

TEST(AuditSection, AmortisedScoresAreNamedSo) {
  Enumerated e(30, 0.9);
  e.model.normalizer.slope = {0, 0};
  e.model.normalizer.intercept = 0.25;
  const ReportDocument document =
      document_of(e.audited({.amortised = true}), {.kind = "amortised", .data = ""});
  EXPECT_NEAR(*card_of(document, "nll_amortised")->number,
              e.mean([](const Input& i) { return 0.25 - std::log(i.audited[i.target]); }), 1e-5);
  EXPECT_EQ(card_of(document, "nll_raw"), nullptr);
  EXPECT_NE(card_of(document, "rms_log_z")->source.find("A(x) - c - b(x)"), std::string::npos);
  EXPECT_EQ(figure_of(document, "raw_exact").figure.title, "Amortised against exact probability");
  EXPECT_EQ(panel_of(document, "log_z_norm").y.label, "exact log Z - c - b(x)");
}

// Errors far from 0 keep their picture: neither 0 nor the band is in it.
TEST(AuditSection, FarFromZero) {
  const Enumerated e(600, 1000);
  const ReportDocument document = document_of(e.audited(), {.kind = "raw", .data = ""});
  const Panel& histogram = panel_of(document, "log_z_histogram");
  EXPECT_LT(*histogram.x.high, -900);
  EXPECT_THROW(series_of(histogram, Stroke::bands), Error);
  EXPECT_THROW(series_of(histogram, Stroke::rules, 1), Error);
  EXPECT_NE(figure_of(document, "log_z_histogram").look.find("too far away"), std::string::npos);
  EXPECT_LT(*panel_of(document, "log_z_norm").y.high, -900);
  for (const double y : series_of(panel_of(document, "raw_exact"), Stroke::points).y) EXPECT_GT(y, 0);
}

TEST(AuditSection, ManyInputsAreASampleOfWhichEveryPointIsCounted) {
  const Enumerated e(200000, 0.9);
  const Audit audit = e.audited({.with_v_star = false});
  EXPECT_EQ(audit.sample_stride, 4u);
  ASSERT_EQ(audit.sample.size(), 50000u);
  for (size_t i = 0; i < audit.sample.size(); ++i) ASSERT_EQ(audit.sample[i].example, 4 * i);
  const ReportDocument document = document_of(audit, {.kind = "raw", .data = ""});
  for (const char* id : {"log_z_norm", "log_z_confidence", "raw_exact"}) {
    const Heat& heat = panel_of(document, id).heat;
    double counted = 0;
    for (const double value : heat.value) counted += std::round(heat.amount(value));
    EXPECT_EQ(counted, 50000) << id;
    EXPECT_NE(figure_of(document, id).figure.title.find("(one of every 4 inputs)"), std::string::npos);
  }
  EXPECT_EQ(card_of(document, "variance"), nullptr);
  EXPECT_LT(document_text(document).size(), 200000u);
}

TEST(AuditSection, TheCertificateInWords) {
  Certificate c{.eps = 0.1, .rho = 0.01, .confidence = 0.99, .n = 1000, .smallest_eps = 0.0731};
  EXPECT_EQ(certificate_words(c, "raw"),
            "with 99% confidence, 99% of inputs have raw log-probabilities within 0.074");
  c.smallest_eps = 0.08;
  EXPECT_EQ(certificate_words(c, "amortised"),
            "with 99% confidence, 99% of inputs have amortised log-probabilities within 0.08");
  c.smallest_eps.reset();
  c.n = 100;
  EXPECT_EQ(
      certificate_words(c, "raw"),
      "none: 100 inputs are too few for a bound for 99% of inputs with 99% confidence; at least 459 are "
      "needed");
  c.n = 1000;
  EXPECT_EQ(
      certificate_words(c, "raw"),
      "none: too many errors are not known well enough for a bound for 99% of inputs with 99% confidence");
}

TEST(AuditSection, NothingRoundsToCertainty) {
  EXPECT_EQ(percent(0), "0%");
  EXPECT_EQ(percent(1), "100%");
  EXPECT_EQ(percent(0.99), "99%");
  EXPECT_EQ(percent(0.9999), "99.99%");
  EXPECT_EQ(percent(1 - 1e-9), "99.9999999%");
  EXPECT_EQ(percent(1e-12), "1e-10%");
  EXPECT_EQ(percent(2.0 / 3, 4), "66.67%");
  EXPECT_EQ(percent(0.999999, 4), "99.9999%");
  for (const double share : {std::nextafter(1.0, 0.0), 1 - 1e-15, 1e-300, 0.99999996}) {
    EXPECT_NE(percent(share), "100%") << share;
    EXPECT_NE(percent(share), "0%") << share;
  }
  Certificate c{.eps = 0.1, .rho = 1e-20, .confidence = 1 - 1e-10, .n = 1000, .smallest_eps = 0.07};
  EXPECT_EQ(certificate_words(c, "raw"),
            "with 99.99999999% confidence, all but 1e-18% of inputs have raw log-probabilities within 0.07");
}

// Independence is assumed, never known.
TEST(AuditSection, WhatACertificateRestsOn) {
  const Enumerated e(600, 0.9);
  const auto certificate = [&](RowsPart part) {
    return *card_of(document_of(e.audited(), {.kind = "raw", .data = "", .part = part}), "certificate");
  };
  const std::string factor = "nats from the exact ones, so probabilities within a factor of " +
                             rounded_up(std::exp(*certificate(RowsPart::kNone).number), 3) + "; ";
  EXPECT_EQ(certificate(RowsPart::kNone).source,
            factor + "exact log Z; holds if the inputs are independent and had no part in the model");
  EXPECT_EQ(
      certificate(RowsPart::kChoseStep).source,
      factor +
          "exact log Z; holds if the inputs are independent, but for their part in the choice of the step");
  EXPECT_FALSE(certificate(RowsPart::kTrained).number.has_value());
}

TEST(AuditSection, LongLabelsAreCut) {
  const Enumerated e(50, 0.9);
  const std::string label(10000, 'x');
  const ReportDocument document =
      document_of(e.audited({.worst = 2}), {.kind = "raw", .data = "", .labels = {label, label, label}});
  for (const std::vector<Cell>& row : table_of(document, "worst").rows)
    EXPECT_EQ(text(row[2]), std::string(79, 'x') + "\u2026");
}

TEST(AuditSection, ANoteOnlyAboutWhatWasAskedFor) {
  const Enumerated e(600, 0.9);
  const AuditNames unasked{.kind = "raw", .data = "", .is_requested = false};
  EXPECT_EQ(document_of(e.audited({.eps = 0.01}), {.kind = "raw", .data = ""}).notes.size(), 1u);
  EXPECT_TRUE(document_of(e.audited({.eps = 0.01}), unasked).notes.empty());
  EXPECT_TRUE(document_of(e.audited({.eps = 100}), {.kind = "raw", .data = ""}).notes.empty());
}

TEST(AuditSection, WhatIsRoundedUpIsNeverLess) {
  EXPECT_EQ(rounded_up(0, 2), "0");
  EXPECT_EQ(rounded_up(0.07, 2), "0.07");
  EXPECT_EQ(rounded_up(0.0701, 2), "0.071");
  EXPECT_EQ(rounded_up(0.999, 2), "1");
  EXPECT_EQ(rounded_up(12.01, 2), "13");
  EXPECT_EQ(rounded_up(12345, 4), "1.235e+04");
  EXPECT_EQ(rounded_up(5e-324, 2), "1e-300");
  RandomStream random(5);
  for (int i = 0; i < 20000; ++i) {
    const double value = std::exp(20 * random.normal());
    const double shown = std::stod(rounded_up(value, 2));
    ASSERT_GE(shown, value);
    ASSERT_LE(shown, 1.1000001 * value);
  }
}

TEST(AuditSection, ErrorsOfAnyModel) {
  ErrorAuditor auditor({.eps = 10, .rho = 0.5, .confidence = 0.9, .bins = 4, .worst = 2});
  for (const double error : {-0.25, 0.5, 0.125, -0.5, 0.0}) auditor.add(auditor.count(), error);
  ReportDocument document;
  add_errors(auditor.finish(), "amortised", document);
  EXPECT_TRUE(document.cards.empty() && document.notes.empty());
  const Panel& histogram = panel_of(document, "log_z_histogram");
  double counted = 0;
  for (const double y : series_of(histogram, Stroke::bars).y) counted += y;
  EXPECT_EQ(counted, 5);
  EXPECT_EQ(histogram.x.label, "error of amortised log-probabilities");
  const Table& worst = table_of(document, "worst");
  ASSERT_EQ(worst.rows.size(), 2u);
  EXPECT_EQ(number(worst.rows[0][0]), 1);
  EXPECT_EQ(number(worst.rows[1][0]), 3);
  EXPECT_EQ(number(worst.rows[1][1]), -0.5);
}

TEST(AuditSection, AnErrorThatNobodyCanUseIsNoCertificateButARedSentence) {
  Certificate c{.eps = 0.1, .rho = 0.01, .confidence = 0.99, .n = 1000, .exceed = 900, .smallest_eps = 0.5};
  EXPECT_EQ(certificate_card(c, "raw", "source").value, certificate_words(c, "raw"));
  EXPECT_EQ(certificate_card(c, "raw", "source").tone, "");
  c.smallest_eps = 0.87;
  const ReportCard card = certificate_card(c, "raw", "source");
  EXPECT_EQ(card.tone, "bad");
  EXPECT_EQ(card.id, "certificate");
  EXPECT_EQ(card.number, 0.87);
  EXPECT_EQ(card.value.rfind("not normalised well enough: 1% of inputs may have raw log-probabilities", 0),
            0u)
      << card.value;
  EXPECT_EQ(card.value.find("confidence"), std::string::npos);
  c.smallest_eps.reset();
  EXPECT_EQ(certificate_card(c, "raw", "source").tone, "");
}

}  // namespace
}  // namespace selfnorm

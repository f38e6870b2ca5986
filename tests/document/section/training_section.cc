#include "document/section/training_section.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/reader_checks.h"

namespace selfnorm {
namespace {

class TrainingSection : public testing::Test {
 protected:
  const ReportDocument& shown(const std::string& metrics) {
    document_ = {};
    add_training(scratch_.file("metrics.jsonl", metrics), document_);
    return document_;
  }
  const Panel& panel(const std::string& id) {
    for (const ReportFigure& f : document_.section("Training").figures)
      if (f.id == id) return f.figure.panels.at(0);
    throw Error("no figure " + id);
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> out;
    for (const ReportSection& s : document_.sections)
      for (const ReportFigure& f : s.figures) out.push_back(f.id);
    return out;
  }
  void expect_error(const std::string& metrics, const std::string& text) {
    try {
      shown(metrics);
      FAIL() << metrics;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
    }
  }

  Scratch scratch_;
  ReportDocument document_;
};

TEST_F(TrainingSection, OnlyFiguresWithData) {
  shown(
      "{\"step\":1,\"epoch\":0,\"loss\":2.5,\"penalty\":0.0,\"regulariser\":0.0,\"alpha\":0.1}\n"
      "{\"step\":2,\"epoch\":0,\"loss\":1.5,\"penalty\":0.0,\"regulariser\":0.0,\"alpha\":0.1}\n");
  EXPECT_EQ(ids(), std::vector<std::string>{"loss"});
  const Series& loss = panel("loss").series.at(0);
  EXPECT_EQ(loss.x, (std::vector<double>{1, 2}));
  EXPECT_EQ(loss.y, (std::vector<double>{2.5, 1.5}));
  EXPECT_TRUE(loss.labels.empty());
  EXPECT_EQ(loss.stroke, Stroke::line_points);
}

TEST_F(TrainingSection, EverythingThereCanBe) {
  shown(
      "{\"step\":1,\"epoch\":0,\"loss\":2,\"nll\":1.9,\"penalty\":0.1,\"regulariser\":0.01,\"log_z_rms\":1,"
      "\"log_normalizer\":3,\"log_ratio\":0.5,\"effective_samples\":9,\"alpha\":0.1,\"nll_estimate\":1.8}\n"
      "{\"step\":2,\"epoch\":1,\"loss\":1,\"nll\":0.9,\"penalty\":0.05,\"regulariser\":0.02,\"log_z_rms\":0."
      "5,"
      "\"log_normalizer\":4,\"log_ratio\":0.2,\"effective_samples\":8,\"alpha\":0.1,\"valid_nll\":1.25,"
      "\"valid_log_z_rms\":0.75,\"valid_nll_estimate\":1.5}\n");
  EXPECT_EQ(ids(),
            (std::vector<std::string>{"loss", "training_nll", "penalty", "regulariser", "training_log_z",
                                      "training_b", "log_ratio", "effective_samples"}));
  const auto& nll = panel("training_nll").series;
  ASSERT_EQ(nll.size(), 5u);
  EXPECT_EQ(nll[0].y, (std::vector<double>{1.9, 0.9}));
  EXPECT_EQ(nll[1].name, "validation, exact");
  EXPECT_EQ(nll[1].x, std::vector<double>{2});
  EXPECT_EQ(nll[1].labels, std::vector<std::string>{"step 2, epoch 2"});
  EXPECT_EQ(nll[2].name, "training, estimate");
  EXPECT_EQ(nll[3].y, std::vector<double>{1.5});
  EXPECT_EQ(panel("penalty").series.at(0).y, (std::vector<double>{0.1, 0.05}));
  EXPECT_EQ(panel("regulariser").series.at(0).y, (std::vector<double>{0.01, 0.02}));
  EXPECT_EQ(panel("training_log_z").series.at(1).y, std::vector<double>{0.75});
  EXPECT_EQ(panel("training_b").series.at(0).y, (std::vector<double>{3, 4}));
  EXPECT_EQ(panel("log_ratio").y.label, "log r, nats");
  EXPECT_EQ(panel("effective_samples").series.at(0).y, (std::vector<double>{9, 8}));
  for (const ReportFigure& f : document_.section("Training").figures) {
    EXPECT_TRUE(f.look.ends_with(".")) << f.id;
    EXPECT_FALSE(f.figure.title.empty()) << f.id;
  }
}

TEST_F(TrainingSection, TheLowestValidationIsMarked) {
  shown(
      "{\"step\":1,\"loss\":1,\"valid_nll\":3}\n{\"step\":2,\"loss\":1,\"valid_nll\":null}\n"
      "{\"step\":3,\"loss\":1,\"valid_nll\":2}\n{\"step\":4,\"loss\":1,\"valid_nll\":2.5}\n");
  const Series& lowest = panel("training_nll").series.at(1);
  EXPECT_EQ(lowest.name, "lowest validation");
  EXPECT_EQ(lowest.x, std::vector<double>{3});
  EXPECT_EQ(lowest.y, std::vector<double>{2});
}

TEST_F(TrainingSection, WithoutBTheRatioIsLogZ) {
  shown("{\"step\":1,\"loss\":2,\"log_ratio\":5}\n");
  EXPECT_EQ(panel("log_ratio").y.label, "log Z, nats");
}

// A constraint: solves of their own alpha are not joined, and alpha is shown by solve.
TEST_F(TrainingSection, SolvesOfAConstraint) {
  shown(
      "{\"step\":0,\"epoch\":0,\"loss\":3,\"log_z_rms\":0.0,\"alpha\":10}\n"
      "{\"step\":1,\"epoch\":0,\"loss\":2,\"log_z_rms\":0.08,\"alpha\":10}\n"
      "{\"step\":1,\"epoch\":1,\"loss\":1.9,\"log_z_rms\":0.08,\"alpha\":8}\n"
      "{\"step\":2,\"epoch\":1,\"loss\":1.8,\"log_z_rms\":0.1,\"alpha\":8}\n"
      "{\"step\":3,\"epoch\":2,\"loss\":1.7,\"log_z_rms\":0.09,\"alpha\":8}\n");
  const Series& loss = panel("loss").series.at(0);
  EXPECT_EQ(loss.x, (std::vector<double>{0, 1, 1, 1, 2, 3, 3}));
  EXPECT_TRUE(std::isnan(loss.y[2]));
  EXPECT_TRUE(std::isnan(loss.y[5]));
  EXPECT_EQ(loss.labels[3], "step 1, solve 2, alpha 8");
  const Series& alpha = panel("alpha").series.at(0);
  EXPECT_EQ(panel("alpha").x.label, "solve");
  EXPECT_EQ(alpha.x, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(alpha.y, (std::vector<double>{10, 8, 8}));
  EXPECT_EQ(alpha.labels[1], "solve 2, rms(log Z - c) 0.1 at its end");
}

TEST_F(TrainingSection, MembersOfAnEnsembleAreNotJoined) {
  shown(
      "{\"step\":1,\"epoch\":0,\"loss\":3,\"valid_nll\":5}\n"
      "{\"step\":2,\"epoch\":1,\"loss\":2}\n"
      "{\"step\":3,\"epoch\":0,\"loss\":3,\"valid_nll\":4}\n");
  const Series& loss = panel("loss").series.at(0);
  ASSERT_EQ(loss.y.size(), 4u);
  EXPECT_TRUE(std::isnan(loss.y[2]));
  EXPECT_EQ(loss.labels[1], "step 2, member 1, epoch 2");
  EXPECT_EQ(loss.labels[3], "step 3, member 2, epoch 1");
  EXPECT_TRUE(std::isnan(panel("training_nll").series.at(0).y.at(1)));
}

TEST_F(TrainingSection, WhatIsNotFiniteInterrupts) {
  shown("{\"step\":1,\"loss\":3}\n{\"step\":2,\"loss\":null}\n{\"step\":3,\"loss\":1}\n");
  const Series& loss = panel("loss").series.at(0);
  EXPECT_EQ(loss.x, (std::vector<double>{1, 2, 3}));
  EXPECT_TRUE(std::isnan(loss.y[1]));
  shown("{\"step\":1,\"loss\":null}\n");
  EXPECT_TRUE(ids().empty());
}

TEST_F(TrainingSection, ManyPointsAreThinned) {
  std::string text;
  for (int i = 0; i < 30'000; ++i)
    text += "{\"step\":" + std::to_string(i) + ",\"loss\":" + (i == 17'123 ? "99" : std::to_string(i % 7)) +
            "}\n";
  shown(text);
  const Series& loss = panel("loss").series.at(0);
  EXPECT_LE(loss.x.size(), 2000u);
  EXPECT_EQ(std::ranges::max(loss.y), 99);
  EXPECT_EQ(std::ranges::min(loss.y), 0);
  EXPECT_EQ(loss.x.back(), 29'999);
  EXPECT_EQ(loss.stroke, Stroke::line);
}

TEST_F(TrainingSection, ALastLineCutShortIsLeftOut) {
  shown("{\"step\":1,\"loss\":3}\n{\"step\":2,\"lo");
  EXPECT_EQ(panel("loss").series.at(0).x, std::vector<double>{1});
  shown("{\"step\":1,\"loss\":3}\n{\"step\":2,\"loss\":4}");  // only its end is missing
  EXPECT_EQ(panel("loss").series.at(0).x.size(), 2u);
  EXPECT_TRUE(shown("").sections.empty());
  EXPECT_TRUE(shown("{\"st").sections.empty());
}

TEST_F(TrainingSection, BrokenLinesAreErrorsWithTheirPlace) {
  expect_error("{\"step\":1,\"loss\":3}\nnonsense\n{\"step\":2,\"loss\":3}\n",
               "metrics.jsonl:2: found something");
  expect_error("{\"step\":1,\"loss\":3}\n\n", "metrics.jsonl:2:");
  expect_error("[1,2]\n", "metrics.jsonl:1:");
  expect_error("{\"loss\":3}\n", "metrics.jsonl:1: found no \"step\"");
  expect_error("{\"step\":\"one\"}\n", "metrics.jsonl:1: \"step\" is no number");
  expect_error("{\"step\":1,\"loss\":\"<b>\"}\n", "\"loss\" is no number");
  EXPECT_THROW(add_training(scratch_.path("nowhere"), document_), Error);
}

}  // namespace
}  // namespace selfnorm

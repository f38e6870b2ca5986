// The experiments of sequences, on reduced sizes and generated sentences: what they say has to follow from
// their numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "experiments/document.h"
#include "experiments/experiment.h"
#include "experiments/reduced_run.h"
#include "math/random.h"
#include "scratch.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using test::column;
using test::holds;
using test::reduced;

double number(const Table& table, const std::string& model, const std::string& name) {
  for (const auto& row : table.rows)
    if (std::get<std::string>(row[0]) == model) return std::get<double>(row[column(table, name)]);
  ADD_FAILURE() << model;
  return NAN;
}

// A word has one of three tags; every ninth one another than its own.
void write_sentences(const std::string& path, int sentences, uint64_t seed) {
  RandomStream random(seed);
  std::ofstream out(path);
  for (int i = 0; i < sentences; ++i) {
    const uint64_t length = 1 + random.below(9);
    for (uint64_t t = 1; t <= length; ++t) {
      const uint64_t word = random.below(12), tag = random.below(9) == 0 ? random.below(3) : word % 3;
      out << t << "\tw" << word << "\t_\tT" << tag << "\t_\t_\t_\t_\t_\t_\n";
    }
    out << "\n";
  }
}

void write_treebank(const Scratch& folder) {
  const std::string path = folder / "ud-english-ewt";
  std::filesystem::create_directories(path);
  write_sentences(path + "/en_ewt-ud-train.conllu", 80, 1);
  write_sentences(path + "/en_ewt-ud-dev.conllu", 20, 2);
  write_sentences(path + "/en_ewt-ud-test.conllu", 30, 3);
}

TEST(SequencesExperiments, ModelsAreComparedWithTheExactOne) {
  const Scratch folder;
  write_treebank(folder);
  double last = 0;
  ExperimentOptions options = reduced(folder / "");
  options.progress = [&](double share) {
    EXPECT_GE(share, last);
    last = share;
  };
  const Record record = run_sequences_ewt(options);
  EXPECT_EQ(last, 1);
  const Table& data = record.data;
  EXPECT_EQ(data.rows.size(), 14u);
  EXPECT_EQ(number(data, "exact", "lost"), 0);
  EXPECT_EQ(number(data, "exact", "lost_error"), 0);
  for (const auto& row : data.rows) {
    const std::string model = std::get<std::string>(row[0]);
    const auto of = [&](const std::string& name) { return number(data, model, name); };
    // Kept with six digits a sentence.
    EXPECT_NEAR(of("lost"), of("nll") - number(data, "exact", "nll"), 1e-5) << model;
    EXPECT_GE(of("rms"), std::abs(of("mean")));
    EXPECT_GT(of("accuracy"), 1.0 / 3);
    EXPECT_EQ(of("diverged"), 0);
    double sentences = 0, square = 0;
    for (const char* level : {"1", "2", "4", "8"}) {
      const std::string name = std::string("length_") + level;
      sentences += of(name + "_sentences");
      square += of(name + "_sentences") * std::pow(of(name + "_rms"), 2);
    }
    EXPECT_EQ(sentences, 30);
    EXPECT_NEAR(std::sqrt(square / sentences), of("rms"), 1e-9 * of("rms"));
  }
  EXPECT_LT(number(data, "penalty 10", "train_rms"), number(data, "penalty 0.0001", "train_rms"));
  EXPECT_EQ(record.tables[0].rows.size(), 14u);
  EXPECT_EQ(record.looks.size(), 1 + record.more_figures.size());
}

// The same p(y|x): likelihoods and best labellings stay, raw scores move.
TEST(SequencesExperiments, NormalisingTheExactModelLosesNothing) {
  const Scratch folder;
  write_treebank(folder);
  const Table data = run_sequences_ewt(reduced(folder / "")).data;
  for (const char* model : {"exact, lossless", "exact, b(x)"}) {
    EXPECT_NEAR(number(data, model, "lost"), 0, 1e-5);
    EXPECT_EQ(number(data, model, "accuracy"), number(data, "exact", "accuracy"));
    EXPECT_LT(number(data, model, "train_rms"), number(data, "exact", "train_rms"));
    EXPECT_EQ(number(data, model, "steps"), number(data, "exact", "steps"));
  }
}

TEST(SequencesExperiments, WordsFollowFromTheNumbers) {
  const Scratch folder;
  write_treebank(folder);
  const Record record = run_sequences_ewt(reduced(folder / ""));
  double least = INFINITY;
  for (const auto& row : record.data.rows)
    least = std::min(least, std::get<double>(row[column(record.data, "rms")]));
  EXPECT_EQ(record.number("least_rms"), least);
  EXPECT_EQ(record.number("rms_lossless_train"), number(record.data, "exact, lossless", "train_rms"));
  const std::string page = document_section(record, "f", "sequences");
  EXPECT_TRUE(holds(page, "sequences-ewt-length.svg"));
  EXPECT_TRUE(holds(page, "| penalty 0.1 |"));
  EXPECT_TRUE(holds(page, "train 80 sentences"));
  EXPECT_FALSE(holds(page, "NOT MEASURED"));
  EXPECT_FALSE(holds(page, "w1"));  // no words of the corpus
}

TEST(SequencesExperiments, FinishedTrainingsAreNotRepeated) {
  const Scratch folder;
  write_treebank(folder);
  ExperimentOptions options = reduced(folder / "");
  options.cells = folder / "x.cells.jsonl";
  const std::string first = csv_text(run_sequences_ewt(options).data);
  const auto size = std::filesystem::file_size(options.cells);
  EXPECT_EQ(csv_text(run_sequences_ewt(options).data), first);  // the seconds as well
  EXPECT_EQ(std::filesystem::file_size(options.cells), size);
  write_sentences(folder / "ud-english-ewt/en_ewt-ud-test.conllu", 25, 4);
  EXPECT_NE(csv_text(run_sequences_ewt(options).data), first);
}

// A changed model whose training is finished, but not itself, is trained again to the same bits.
TEST(SequencesExperiments, AnInterruptedRunGoesOnWhereItWas) {
  const Scratch folder;
  write_treebank(folder);
  ExperimentOptions options = reduced(folder / "");
  const auto without_seconds = [&] {
    Table data = run_sequences_ewt(options).data;
    const size_t seconds = column(data, "seconds");
    for (auto& row : data.rows) row[seconds] = 0.0;
    return csv_text(data);
  };
  const std::string whole = without_seconds();
  options.cells = folder / "x.cells.jsonl";
  run_sequences_ewt(options);
  std::ifstream in(options.cells);
  std::string first;
  std::getline(in, first);
  in.close();
  std::ofstream(options.cells) << first << "\n";
  EXPECT_EQ(without_seconds(), whole);
}

TEST(SequencesExperiments, NumbersDoNotDependOnTheNumberOfThreads) {
  const Scratch folder;
  write_treebank(folder);
  const auto run = [&](int threads) {
    ExperimentOptions options = reduced(folder / "");
    options.threads = threads;
    Table data = run_sequences_ewt(options).data;
    const size_t seconds = column(data, "seconds");
    for (auto& row : data.rows) row[seconds] = 0.0;
    return csv_text(data);
  };
  EXPECT_EQ(run(1), run(3));
}

TEST(SequencesExperiments, DataThatAreNotThereAreSaidToBeMissing) {
  const Record none = run_sequences_ewt(reduced("nowhere"));
  const std::string page = document_section(none, "f", "sequences");
  EXPECT_TRUE(holds(page,
                    "NOT MEASURED: en_ewt-ud-train.conllu, en_ewt-ud-dev.conllu, en_ewt-ud-test.conllu not "
                    "found in 'nowhere/ud-english-ewt'"));
  EXPECT_FALSE(holds(page, ".svg"));
  const Scratch folder;
  write_treebank(folder);
  std::filesystem::remove(folder / "ud-english-ewt/en_ewt-ud-dev.conllu");
  EXPECT_TRUE(
      holds(run_sequences_ewt(reduced(folder / "")).measured, "NOT MEASURED: en_ewt-ud-dev.conllu not"));
}

TEST(SequencesExperiments, DataThatCannotBeReadAreErrors) {
  const Scratch folder;
  write_treebank(folder);
  std::ofstream(folder / "ud-english-ewt/en_ewt-ud-test.conllu") << "1\tw\t_\tT9\t_\t_\t_\t_\t_\t_\n";
  EXPECT_THROW(run_sequences_ewt(reduced(folder / "")), DataError);
}

TEST(SequencesExperiments, CellsOfOtherSentencesAreRefused) {
  const Scratch folder;
  write_treebank(folder);
  ExperimentOptions options = reduced(folder / "");
  options.cells = folder / "x.cells.jsonl";
  run_sequences_ewt(options);
  std::ifstream in(options.cells);
  std::string text, line;
  while (std::getline(in, line))
    text +=
        line.substr(0, line.find("\"grid\"")) + "\"grid\":[1]," + line.substr(line.find("\"key\"")) + "\n";
  in.close();
  std::ofstream(options.cells) << text;
  EXPECT_THROW(run_sequences_ewt(options), Error);
}

TEST(SequencesExperiments, TimesAreOfEveryLengthAndNumberOfLabels) {
  const Record record = run_sequences_time(reduced(""));
  EXPECT_EQ(record.data.rows.size(), 4u);
  for (const auto& row : record.data.rows) {
    const double raw = std::get<double>(row[column(record.data, "raw")]),
                 exact = std::get<double>(row[column(record.data, "exact")]);
    EXPECT_GT(raw, 0);
    EXPECT_EQ(std::get<double>(row[column(record.data, "ratio")]), exact / raw);
  }
  EXPECT_LE(record.number("least_ratio_17_labels"), record.number("largest_ratio_17_labels"));
  const std::string page = document_section(record, "f", "sequences");
  EXPECT_TRUE(holds(page, "| tokens | L = 2 | L = 17 |"));
  EXPECT_TRUE(holds(page, "processor "));
  EXPECT_EQ(record.figure.panels.size(), 2u);
}

}  // namespace
}  // namespace selfnorm

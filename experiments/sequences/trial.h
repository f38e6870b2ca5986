// Trainings of a CRF on a treebank, and what each is worth on sentences it has not seen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/sentences/sequences.h"
#include "experiments/cells.h"
#include "experiments/experiment.h"
#include "family/crf/crf_trainer.h"

namespace selfnorm {

struct Treebank {
  SequenceEncoder encoder;  // UPOS from the word form, all of it from the training sentences
  Sequences train, valid, test;
};

// Those of en_ewt-ud-{train,dev,test}.conllu that the folder lacks, ", " between; empty: none.
std::string missing_treebank_files(const std::string& folder);
Treebank read_treebank(const std::string& folder);

// What is done to a trained model: A(x) is regressed on attribute counts of the training sentences
// (family/crf/crf_gauge.h), and what the regression finds goes into the parameters (lossless) or into b(x).
enum class CrfChange { none, lossless, amortised };

struct CrfTrial {
  std::string name, family;  // family: what belongs together in figures
  CrfOptions options;
  CrfChange change = CrfChange::none;
  bool has_length_line = false;  // drawn against the length of the sentence
};

// Numbers of the test sentences: accuracy, sentence_accuracy; nll, nll_raw of a token; rms and mean of A - b
// of a sentence, rms_per_token; length_N_sentences, _rms and _rms_per_token of those of N .. 2N-1 tokens;
// train_rms and valid_rms; seconds of the processor; steps; diverged. Grid: the exact NLL of every sentence.
class CrfTrials {
 public:
  CrfTrials(const Treebank& data, int threads) : data_(data), threads_(threads) {}

  // Of everything the numbers depend on.
  std::string key(const CrfTrial& trial) const;
  CellValues run(const CrfTrial& trial);

 private:
  struct Training {
    std::string key;
    CrfTrainResult result;
    double seconds = 0;
  };
  const Training& trained(const CrfTrial& trial);

  const Treebank& data_;
  int threads_;
  std::optional<Training> last_;
};

}  // namespace selfnorm

// The rows a classifier is to be trained on, from wherever they came, and its training: a linear model or one
// with an encoder, as the options say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/text/text_encoder.h"
#include "family/classifier/network/network_trainer.h"

namespace selfnorm {

struct ClassifierRows {
  Dataset train;
  std::optional<Dataset> valid;
  std::optional<TextEncoder> text;  // of texts: how they became numbers
};

// Throws Error where the encoder cannot take such rows, or an option has no use for it.
void check_encoder(const EncoderOptions& encoder, const Dataset& rows);

// Moves a part of the training rows to `valid` and returns their places among all. An encoder then has the
// words of the others only: what is held out must meet unknown words as new texts will.
std::vector<uint64_t> hold_out_rows(ClassifierRows& rows, double part, const TrainOptions& options);

// Of a bag; with the embeddings to start from, of which `note` then says how many there are.
EncoderPlan bag_plan(const ClassifierRows& rows);
std::string take_embeddings(const ClassifierRows& rows, const EncoderOptions& encoder, EncoderPlan& plan);

// `plan` is for an encoder. `unlabelled`: as train_classifier.
TrainResult train_rows(ClassifierRows rows, EncoderPlan plan, const TrainOptions& options,
                       const CheckpointOptions& checkpoint, TrainObserver& observer,
                       std::optional<Dataset> unlabelled = std::nullopt);

}  // namespace selfnorm

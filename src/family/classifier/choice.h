// What the training of a classifier takes where nothing was said.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/text/text_encoder.h"
#include "family/classifier/options.h"

namespace selfnorm {

// The options whose being given, even with their defaults, has a part in the choice.
const std::vector<std::string>& choosing_options();

using IsGiven = std::function<bool(const std::string& option)>;

// Whether an option that was given belongs to an objective or an encoder, or names one: nothing is chosen
// then.
bool is_decided(const IsGiven& is_given);

// Whether texts are read in pieces of words beside words and pairs of words where nothing was said of how
// they are read: where they are so few that many words of a new text are new (docs/measured/classifiers.md),
// and of a linear model, which more classes do not get.
bool wants_pieces(const Dataset& texts, const IsGiven& is_given);
TextOptions with_pieces(TextOptions text);
// Of a linear model by maximum likelihood.
bool makes_full_passes(const Dataset& data, TrainOptions options);

// Reads texts again, in pieces of words, where those are wanted and a linear model of them still makes full
// passes. `read` has the data and, of texts, the encoder; `read_again(text options)` gives another such one.
template <class Read, class ReadAgain>
bool take_pieces(Read& read, TextOptions& text, const IsGiven& is_given, const TrainOptions& options,
                 const ReadAgain& read_again) {
  if (!read.text || !wants_pieces(read.data, is_given)) return false;
  const TextOptions pieces = with_pieces(text);
  Read again = read_again(pieces);
  if (!makes_full_passes(again.data, options)) return false;
  read = std::move(again);
  text = pieces;
  return true;
}

struct TrainingChoice {
  std::string note;                  // what was chosen, and why
  std::vector<std::string> options;  // that were set, by name, those of pieces of words among them
};

// Where nothing is decided: maximum likelihood where a sum over the classes is cheap, so that nothing is paid
// for scores that need none, otherwise noise. A regulariser that was not given either is chosen on held-out
// rows, of which `has_held_out` says whether there are any. `has_pieces`: what take_pieces came to.
TrainingChoice choose_training(const Dataset& data, bool has_held_out, const IsGiven& is_given,
                               TrainOptions& options, bool has_pieces = false);

}  // namespace selfnorm

// What the log-probability of a given labelling costs, raw and exact.
#pragma once

#include "evaluation_report.h"
#include "selfnorm/model/chain/chain_model.h"

namespace selfnorm::cli {

struct ChainTiming {
  ScoreTiming score;  // of a sentence, prepared attributes to log-probability
  double tokens = 0;  // of a sentence, on average
};

// By one thread, on the first sentences. They have labels.
ChainTiming time_chain(const ChainModel& model, const Sequences& data);

}  // namespace selfnorm::cli

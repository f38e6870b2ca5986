// What the log-probability of a given labelling costs, raw and exact.
#pragma once

#include "classifier/evaluation_report.h"
#include "model/crf/crf_model.h"

namespace selfnorm::cli {

struct CrfTiming {
  ScoreTiming score;  // of a sentence, prepared attributes to log-probability
  double tokens = 0;  // of a sentence, on average
};

// By one thread, on the first sentences. They have labels.
CrfTiming time_crf(const CrfModel& model, const Sequences& data);

}  // namespace selfnorm::cli

// `score` of chains: the log-probability of the labels of every sentence.
#pragma once

#include "arguments.h"

namespace selfnorm::cli {

int score_labellings(const Arguments& arguments);

}  // namespace selfnorm::cli

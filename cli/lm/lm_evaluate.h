// `evaluate` of language models: perplexity on text, side by side.
#pragma once

#include <vector>

#include "classifier/model_header.h"
#include "grammar/arguments.h"

namespace selfnorm::cli {

int evaluate_language_models(const Arguments& arguments);

}  // namespace selfnorm::cli

// Which log-probabilities `score` gives, and what it says about them.
#pragma once

#include <string>

#include "arguments.h"
#include "model_header.h"
#include "selfnorm.h"

namespace selfnorm::cli {

// "raw", "exact" or "amortised".
const char* kind_name(selfnorm_kind kind);

// Amortised where the model has b, otherwise raw, unless --raw or --exact says so.
selfnorm_kind kind_of(const ScoreArguments& given, const ModelHeader& header);

// On stderr, when nothing has made the raw scores of the model log-probabilities.
void warn_about_raw_scores(const ModelHeader& header);

// Of a model with this record of its objective; `advice` is what to use instead.
void warn_about_raw_scores(const nlohmann::ordered_json& objective, const std::string& advice);

// A field of a TSV line: tab, line feed and backslash as \t, \n and \\.
std::string escaped(std::string_view text);

}  // namespace selfnorm::cli

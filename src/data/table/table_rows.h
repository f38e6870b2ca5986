// Tables with columns of words, texts and missing values as rows of a classifier (table_encoder.h).
#pragma once

#include "data/input/source.h"
#include "data/read.h"

namespace selfnorm {

// Reads the rest of the input, a table. Without a schema an encoder is learned from its rows; it is in the
// result.
ReadResult read_table_rows(Input& input, char separator, const ReadOptions& options);

// read_table of tables of numbers, otherwise read_table_rows: when columns are named as texts, categories or
// left out, when values are missing, or when a column has words alone. A column of numbers with a few words
// is an error that names the line.
ReadResult read_any_table(Input& input, Format format, const ReadOptions& options);

// Whether the first line of the input names all of these columns.
bool names_columns(Input& input, const std::vector<std::string>& names);

}  // namespace selfnorm

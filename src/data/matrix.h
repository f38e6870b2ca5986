// Readers of whole arrays: NPY, NPZ and idx.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "array.h"
#include "selfnorm/data/read.h"
#include "source.h"

namespace selfnorm {

ReadResult read_npy(Input& input, const ReadOptions& options);
ReadResult read_npz(Input& input, const ReadOptions& options);
ReadResult read_idx(Input& input, const ReadOptions& options);

// n x d from an array of two or more dimensions (the further ones flattened).
Features dense_features(const Array& array);

// One label per row from an NPY, idx or text file (one label per line).
std::vector<std::string> read_label_file(const std::string& path);

// Checks values and labels row by row and leaves out up to skip_bad bad rows.
ReadResult labelled_matrix(const Input& input, Features features,
                           std::optional<std::vector<std::string>> labels, const ReadOptions& options);

}  // namespace selfnorm

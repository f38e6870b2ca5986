// Readers of whole arrays: NPY, NPZ, safetensors and idx.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/array/array.h"
#include "data/input/source.h"
#include "data/read.h"

namespace selfnorm {

ReadResult read_npy(Input& input, const ReadOptions& options);
ReadResult read_named_arrays(Input& input, Format format, const ReadOptions& options);  // npz, safetensors
ReadResult read_idx(Input& input, const ReadOptions& options);

// n x d from an array of two or more dimensions (the further ones flattened).
Features dense_features(const Array& array);

// What is wrong with a row: "found nan at position 1, expected ..."; empty when all values are finite.
std::string value_error(std::span<const float> values);

// One label per row from an NPY, idx or text file (one label per line).
std::vector<std::string> read_label_file(const std::string& path);

// Checks values and labels row by row and leaves out up to skip_bad bad rows.
ReadResult labelled_matrix(const Input& input, Features features,
                           std::optional<std::vector<std::string>> labels, const ReadOptions& options);

}  // namespace selfnorm

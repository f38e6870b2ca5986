// Anybody's softmax head: W (K x d) and an optional bias (K), in a safetensors or npz file among other
// tensors. It is read as a ModelFile and written back in its format and dtypes, other tensors untouched.
#pragma once

#include <string>

#include "model/model_file.h"

namespace selfnorm {

enum class HeadFormat { Safetensors, Npz };
enum class HeadKind { Float32, Float16, Bfloat16, Float64 };  // how numbers are stored; the model has float32

struct HeadNames {
  // Empty: weight, W, lm_head.weight, or the only tensor of floats in two dimensions that has no name of
  // data.
  std::string weight;
  std::string bias;  // empty: the weight's name with "bias" for "weight", bias or b
};

struct Head {
  std::string path;
  HeadFormat format = HeadFormat::Safetensors;
  HeadKind kind = HeadKind::Float32;       // of the weights
  HeadKind bias_kind = HeadKind::Float32;  // of the biases; that of the weights when the file has none
  HeadNames names;        // as found; names.bias also when the file has none yet: the name it will get
  bool has_bias = false;  // in the file
  ModelFile model;        // multiclass, dense input, no labels; bias 0 when the file has none
};

// Whether the numbers as stored are those of the model: no wider type is rounded.
constexpr bool keeps_float32(HeadKind kind) { return kind == HeadKind::Float32 || kind == HeadKind::Float64; }

// Whether `path` is a head rather than a model of ours: npz, or safetensors without our "format".
bool is_head_file(const std::string& path);

// Throws Error: an array without a name is no head, and where it goes instead.
[[noreturn]] void refuse_npy_head(const std::string& path);

// Throws Error naming the file, what it holds and what was expected.
Head load_head(const std::string& path, const HeadNames& names);

// Rounds weights and biases to what the file can hold (nearest, ties to even). Throws Error beyond its range.
void round_to_kind(HeadKind kind, ModelFile& model);
// The same with the kinds of a head's own weights and biases: what save_head writes.
void round_to_kind(Head& head);

// Writes head.model's weight, bias and amortised normalizer (tensors "selfnorm.normalizer.*") with everything
// else head.path holds to `out`, which may be head.path itself; whole or not at all. A file without a bias
// gets one, with the dtype of the weights, unless all biases are 0. The constant model.log_normalizer has no
// place in a head: subtract it from the biases first. Throws Error.
void save_head(const Head& head, const std::string& out);

}  // namespace selfnorm

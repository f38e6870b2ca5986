// What a selfnorm model file holds, on top of safetensors. This is the only place that knows the layout; the
// C runtime and the library both read through it.
//   metadata  format "selfnorm", format_version "1", family, classes K, features d, input, weights,
//   log_normalizer c;
//             JSON strings: objective, training, audit, text (text input only);
//             target (optional): the label column of the tables it was trained on, a name or an index
//   tensors   weight K x d (F32 | BF16 | I8; joint: 1 x d, K = 0), weight_scale K (I8 only: w_kj = scale_k
//   q_kj),
//             bias K and log_carrier K (optional), idf d (text, optional),
//             the amortised normalizer b(x) (multiclass, optional): normalizer.slope d, normalizer.intercept
//             1 (F64), and for a hidden layer of m units normalizer.hidden_weight m x d,
//             normalizer.hidden_bias m, normalizer.output m,
//             string lists <name>.bytes U8 and <name>.offsets U64 (n + 1) for labels (K), feature_names and
//             vocabulary (d); string i is bytes[offsets[i] .. offsets[i+1])
// Raw log-probability of class k: log_carrier_k + w_k . x + bias_k - c; of a joint alternative: w . x - c.
// b(x) = intercept + slope . x + output . max(0, hidden_weight x + hidden_bias).
// Readers refuse tensors they do not know, so an optional tensor leaves the format_version as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "selfnorm/runtime/safetensors.h"

namespace selfnorm::runtime {

enum class Family { Multiclass, Joint, Hierarchical };
enum class Input { Dense, Sparse, Text, Context };
enum class WeightKind { Float32, Bfloat16, Int8 };
enum class EncoderKind { None, Bag, Context };

std::string_view name(Family family);
std::string_view name(Input input);
std::string_view name(WeightKind kind);

inline constexpr std::string_view kFormat = "selfnorm";
inline constexpr std::string_view kFormatVersion = "1";

struct StringTable {
  std::span<const uint8_t> bytes;
  std::span<const uint64_t> offsets;

  uint64_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  // False when i or its offsets are out of range: offsets are not scanned at open, so each access checks its
  // own.
  bool get(uint64_t i, std::string_view& out) const;
};

struct NormalizerLayout {
  std::span<const double> intercept;  // 1; empty: there is no b
  std::span<const float> slope, hidden_weight, hidden_bias, output;

  bool exists() const { return !intercept.empty(); }
};

struct ModelLayout {
  Family family = Family::Multiclass;
  Input input = Input::Sparse;
  WeightKind weights = WeightKind::Float32;
  uint32_t classes = 0;
  uint32_t features = 0;
  double log_normalizer = 0;
  std::span<const float> weight_f32;  // one of the three is in use
  std::span<const uint16_t> weight_bf16;
  std::span<const int8_t> weight_i8;
  std::span<const float> weight_scale, bias, log_carrier, idf;
  StringTable labels, feature_names, vocabulary;
  NormalizerLayout normalizer;

  uint64_t rows() const { return family == Family::Joint ? 1 : classes; }
};

// Checks metadata, tensor names, dtypes, shapes and alignment; touches no tensor data. Throws FormatError.
ModelLayout read_layout(const Safetensors& file, const std::string& name);

// Scans every tensor: finite weights, scales >= 0, int8 weights in -127 .. 127, offsets that tile the bytes.
void check_contents(const ModelLayout& layout, const std::string& name);
// Its part about the string lists.
void check_string_tables(const ModelLayout& layout, const std::string& name);

}  // namespace selfnorm::runtime

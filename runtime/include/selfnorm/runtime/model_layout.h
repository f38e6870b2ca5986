// What a selfnorm model file holds, on top of safetensors. This is the only place that knows the layout; the
// C runtime and the library both read through it.
//   metadata  format "selfnorm", format_version "1", family, classes K, features d, input, weights,
//   log_normalizer c;
//             JSON strings: objective, training, audit, text (text input only);
//             target (optional): the label column of the tables it was trained on, a name or an index;
//             encoder (bag | context; absent: none), inputs R, positions n - 1 (context only);
//             labels (optional) "numbers": the labels are 0 .. K-1, and not stored;
//             unknown (context, optional): the label of the class that stands for words that are none
//   tensors   weight K x d (F32 | BF16 | I8; joint: 1 x d, K = 0), weight_scale K (I8 only: w_kj = scale_k
//   q_kj; BF16, or F32 in older files),
//             bias K and log_carrier K (optional), idf R (text, optional),
//             the amortised normalizer b(x) (multiclass, optional): normalizer.slope d, normalizer.intercept
//             1 (F64), and for a hidden layer of m units normalizer.hidden_weight m x d,
//             normalizer.hidden_bias m, normalizer.output m,
//             the encoder (optional): encoder.embedding R x e, and for a hidden layer of m units
//             encoder.hidden_weight m x p and encoder.hidden_bias m; all F32,
//             string lists <name>.bytes U8 and <name>.offsets U64 (n + 1) for labels (K), feature_names and
//             vocabulary (R), labels.index U32 (optional; string_table.h),
//             tree.parent U32 2K - 1 (hierarchical only; struct Tree),
//             ladder.* (multiclass, optional; ladder_layout.h, also of the metadata "ladder")
// Raw log-probability of class k: log_carrier_k + w_k . x + bias_k - c; of a joint alternative: w . x - c.
// b(x) = intercept + slope . x + output . max(0, hidden_weight x + hidden_bias).
// Without an encoder R = d. With one, h(x) stands in the place of x, and d is its size:
//   bag (input sparse or text)  v = sum_j a_j E[j] / sum_j |a_j|, p = e;
//   context (input context)     v = (E[w_1], ..., E[w_{n-1}]), p = (n - 1) e; R = K + 1: the inputs are the
//                               classes and, last, what stands before a sentence;
//   h = v, d = p, or with a hidden layer max(0, U v + t), d = m.  e, m <= 4096, n <= 16.
// A hierarchical model has K - 1 rows of weight, weight_scale and bias, those of its inner nodes, c = 0, and
// no carrier and no normalizer.
// Readers refuse tensors they do not know, so an optional tensor leaves the format_version as it is.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "selfnorm/runtime/ladder_layout.h"
#include "selfnorm/runtime/safetensors.h"
#include "selfnorm/runtime/string_table.h"

namespace selfnorm::runtime {

enum class Family { Multiclass, Joint, Hierarchical };
enum class Input { Dense, Sparse, Text, Context };
enum class WeightKind { Float32, Bfloat16, Int8 };
enum class EncoderKind { None, Bag, Context };

std::string_view name(Family family);
std::string_view name(Input input);
std::string_view name(WeightKind kind);
std::string_view name(EncoderKind kind);

inline constexpr std::string_view kFormat = "selfnorm";
inline constexpr std::string_view kFormatVersion = "1";

// An encoder beyond these is refused: scoring keeps v and h on the stack.
inline constexpr uint32_t kWidestLayer = 4096;
inline constexpr uint32_t kMostPositions = 15;

// One per row of int8 weights.
struct ScaleTable {
  std::span<const float> f32;  // one of the two is in use
  std::span<const uint16_t> bf16;

  bool empty() const { return f32.empty() && bf16.empty(); }
  float operator[](uint64_t k) const {
    return f32.empty() ? std::bit_cast<float>(static_cast<uint32_t>(bf16[k]) << 16) : f32[k];
  }
};

struct EncoderLayout {
  EncoderKind kind = EncoderKind::None;
  uint32_t inputs = 0, width = 0, positions = 1;
  std::span<const float> embedding, hidden_weight, hidden_bias;

  bool exists() const { return kind != EncoderKind::None; }
  uint32_t hidden() const { return static_cast<uint32_t>(hidden_bias.size()); }
  uint32_t pooled() const { return width * positions; }
  uint32_t states() const { return hidden() > 0 ? hidden() : pooled(); }
};

inline constexpr uint32_t kNoParent = 0xFFFFFFFFu;

// The tree of a hierarchical model, read in place. Nodes 0 .. K-1 are the classes, K .. 2K-2 the inner nodes,
// the last of them the root; inner node K + j has row j of the weights. link[i] = 2 j + side with K + j the
// parent of node i, which is greater than i, and side 1 for its right child; kNoParent for the root.
//     log p(k|x) = sum over the links (j, side) from leaf k to the root of log sigma(+-s_j), + for a right
//     child
struct Tree {
  std::span<const uint32_t> link;  // 2K - 1; empty: there is no tree

  uint64_t classes() const { return (link.size() + 1) / 2; }

  // visit(row, side) for the inner nodes from leaf k < K to the root. False when a link does not lead
  // upwards: links are not scanned at open, so each walk checks its own.
  template <class Visit>
  bool walk(uint64_t k, const Visit& visit) const {
    const uint64_t root = link.size() - 1;
    for (uint64_t node = k; node != root;) {
      const uint64_t parent = classes() + link[node] / 2;
      if (parent <= node || parent > root) return false;
      visit(link[node] / 2, link[node] % 2);
      node = parent;
    }
    return true;
  }
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
  ScaleTable weight_scale;
  std::span<const float> bias, log_carrier, idf;
  StringTable labels, feature_names, vocabulary;
  LabelIndex label_index;
  bool has_numbered_labels = false;  // 0 .. K-1; `labels` is empty
  NormalizerLayout normalizer;
  LadderLayout ladder;
  EncoderLayout encoder;
  Tree tree;

  uint64_t rows() const {
    return family == Family::Joint ? 1 : family == Family::Hierarchical ? classes - 1 : classes;
  }
  uint32_t inputs() const { return encoder.exists() ? encoder.inputs : features; }
};

// Checks metadata, tensor names, dtypes, shapes and alignment; touches no tensor data. Throws FormatError.
ModelLayout read_layout(const Safetensors& file, const std::string& name);

// Scans every tensor: finite weights, scales >= 0, int8 weights in -127 .. 127, offsets that tile the bytes,
// an index that finds every label, a tree in which each inner node has a left and a right child.
void check_contents(const ModelLayout& layout, const std::string& name);
// Its part about the tree: every inner node j is the parent of one left and one right child, both before it,
// so the links are a permutation of 0 .. 2K-3 that leads upwards.
void check_tree(const Tree& tree, const std::string& where);
// Its part about the string lists.
void check_string_tables(const ModelLayout& layout, const std::string& name);

}  // namespace selfnorm::runtime

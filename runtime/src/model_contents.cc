// The part of model_layout.h that reads tensor data.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/model_layout.h"

namespace selfnorm::runtime {
namespace {

template <class T, class Predicate>
void check_all(std::span<const T> values, const std::string& what, Predicate is_good) {
  const auto bad = std::find_if_not(values.begin(), values.end(), is_good);
  if (bad == values.end()) return;
  throw FormatError(what + " (element " + std::to_string(bad - values.begin()) + ")");
}

}  // namespace

void check_contents(const ModelLayout& layout, const std::string& file_name) {
  const std::string where = file_name + ": tensor ";
  const auto finite = [](float v) { return std::isfinite(v); };
  check_all(layout.weight_f32, where + "weight: not finite", finite);
  check_all(layout.weight_bf16, where + "weight: not finite",
            [](uint16_t v) { return std::isfinite(std::bit_cast<float>(static_cast<uint32_t>(v) << 16)); });
  check_all(layout.weight_i8, where + "weight: outside -127 .. 127", [](int8_t v) { return v >= -127; });
  for (uint64_t k = 0; !layout.weight_scale.empty() && k < layout.rows(); ++k) {
    const float v = layout.weight_scale[k];
    if (std::isfinite(v) && v >= 0) continue;
    throw FormatError(where + "weight_scale: expected finite and not negative (element " + std::to_string(k) +
                      ")");
  }
  check_all(layout.bias, where + "bias: not finite", finite);
  check_all(layout.log_carrier, where + "log_carrier: not finite", finite);
  check_all(layout.idf, where + "idf: not finite", finite);
  const NormalizerLayout& b = layout.normalizer;
  check_all(b.intercept, where + "normalizer.intercept: not finite",
            [](double v) { return std::isfinite(v); });
  check_all(b.slope, where + "normalizer.slope: not finite", finite);
  check_all(b.hidden_weight, where + "normalizer.hidden_weight: not finite", finite);
  check_all(b.hidden_bias, where + "normalizer.hidden_bias: not finite", finite);
  check_all(b.output, where + "normalizer.output: not finite", finite);
  check_all(layout.encoder.embedding, where + "encoder.embedding: not finite", finite);
  check_all(layout.encoder.hidden_weight, where + "encoder.hidden_weight: not finite", finite);
  check_all(layout.encoder.hidden_bias, where + "encoder.hidden_bias: not finite", finite);
  check_string_tables(layout, file_name);
  check_index(layout.label_index, layout.labels, where + "labels.index");
  check_tree(layout.tree, where + "tree.parent");
  check_ladder(layout.ladder, layout.classes, file_name);
}

void check_tree(const Tree& tree, const std::string& where) {
  if (tree.link.empty()) return;
  const uint64_t root = tree.link.size() - 1, classes = tree.classes();
  std::vector<bool> seen(root);
  for (uint64_t node = 0; node < root; ++node) {
    const uint32_t link = tree.link[node];
    if (link < root && classes + link / 2 > node && !seen[link]) {
      seen[link] = true;
      continue;
    }
    throw FormatError(where + ": node " + std::to_string(node) + " has link " + std::to_string(link) +
                      ", expected a free side of an inner node after it");
  }
  if (tree.link[root] != kNoParent) throw FormatError(where + ": the last node is not the root");
}

void check_string_tables(const ModelLayout& layout, const std::string& file_name) {
  const std::string where = file_name + ": tensor ";
  check_strings(layout.labels, where + "labels");
  check_strings(layout.feature_names, where + "feature_names");
  check_strings(layout.vocabulary, where + "vocabulary");
}

}  // namespace selfnorm::runtime

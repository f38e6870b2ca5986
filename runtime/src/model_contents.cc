// The part of model_layout.h that reads tensor data.
#include <algorithm>
#include <bit>
#include <cmath>

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

void check_strings(const StringTable& strings, const std::string& where) {
  if (strings.offsets.empty()) return;
  const bool sorted = std::is_sorted(strings.offsets.begin(), strings.offsets.end());
  if (!sorted || strings.offsets.front() != 0 || strings.offsets.back() != strings.bytes.size()) {
    throw FormatError(where + ".offsets: expected to rise from 0 to " + std::to_string(strings.bytes.size()));
  }
}

}  // namespace

void check_contents(const ModelLayout& layout, const std::string& file_name) {
  const std::string where = file_name + ": tensor ";
  const auto finite = [](float v) { return std::isfinite(v); };
  check_all(layout.weight_f32, where + "weight: not finite", finite);
  check_all(layout.weight_bf16, where + "weight: not finite",
            [](uint16_t v) { return std::isfinite(std::bit_cast<float>(static_cast<uint32_t>(v) << 16)); });
  check_all(layout.weight_i8, where + "weight: outside -127 .. 127", [](int8_t v) { return v >= -127; });
  check_all(layout.weight_scale, where + "weight_scale: expected finite and not negative",
            [](float v) { return std::isfinite(v) && v >= 0; });
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
  check_string_tables(layout, file_name);
}

void check_string_tables(const ModelLayout& layout, const std::string& file_name) {
  const std::string where = file_name + ": tensor ";
  check_strings(layout.labels, where + "labels");
  check_strings(layout.feature_names, where + "feature_names");
  check_strings(layout.vocabulary, where + "vocabulary");
}

}  // namespace selfnorm::runtime

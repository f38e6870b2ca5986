#include "selfnorm/runtime/crf_layout.h"

#include <cmath>

#include "selfnorm/runtime/layout_reader.h"

namespace selfnorm::runtime {
namespace {

constexpr std::array<std::string_view, 13> kCrfTensors = {
    "labels.bytes",     "labels.offsets", "unigrams.bytes",
    "unigrams.offsets", "unigrams.index", "bigrams.bytes",
    "bigrams.offsets",  "bigrams.index",  "weight",
    "transition",       "pair",           "bias",
    "normalizer.slope"};

void check_format(const LayoutReader& reader) {
  reader.check_version();
  reader.refuse_others(kCrfTensors);
  for (const char* key : {"objective", "training", "audit"}) reader.metadata(key);
}

// A tensor that is there when, and only when, it has elements.
std::span<const float> block(const LayoutReader& reader, const char* key, std::vector<uint64_t> shape) {
  bool has_elements = true;
  for (const uint64_t n : shape) has_elements = has_elements && n > 0;
  if (has_elements) return reader.tensor<float>(key, Dtype::F32, std::move(shape));
  if (reader.file.find(key) != nullptr)
    reader.fail("unexpected tensor \"" + std::string(key) + "\", which the metadata say has no elements");
  return {};
}

AttributeTable table(const LayoutReader& reader, const std::string& key) {
  AttributeTable out;
  out.size = reader.number<uint32_t>(key);
  out.names = reader.strings(key, out.size);
  if (out.names.size() != out.size) {
    reader.fail("metadata \"" + key + "\" is " + std::to_string(out.size) + ", expected tensors " + key +
                ".bytes and " + key + ".offsets of as many strings");
  }
  out.index = reader.index(key, out.size);
  return out;
}

CrfNormalizerLayout normalizer(const LayoutReader& reader, uint32_t unigrams) {
  constexpr std::array<std::string_view, 2> kinds = {"none", "linear"};
  CrfNormalizerLayout out;
  out.exists = reader.choice("normalizer", kinds) == 1;
  out.per_position = reader.number<double>("normalizer_per_position");
  out.per_sentence = reader.number<double>("normalizer_per_sentence");
  out.slope = reader.optional_floats("normalizer.slope", unigrams);
  if (!std::isfinite(out.per_position) || !std::isfinite(out.per_sentence))
    reader.fail("found a normalizer that is not finite, expected finite numbers");
  if (!out.exists && (out.per_position != 0 || out.per_sentence != 0 || !out.slope.empty()))
    reader.fail("found the numbers of a normalizer that does not exist, expected none");
  return out;
}

}  // namespace

bool is_crf(const Safetensors& file) {
  const auto is = [&file](std::string_view key, std::string_view value) {
    const auto place = file.metadata.find(key);
    return place != file.metadata.end() && place->second == value;
  };
  return is("format", kFormat) && is("family", kCrfFamily);
}

CrfLayout read_crf_layout(const Safetensors& file, const std::string& file_name) {
  const LayoutReader reader{file, file_name};
  check_format(reader);
  constexpr std::array<std::string_view, 2> answers = {"no", "yes"};
  CrfLayout out;
  out.labels = reader.number<uint32_t>("labels");
  if (out.labels < 2)
    reader.fail("metadata \"labels\" is " + std::to_string(out.labels) + ", expected at least 2");
  const uint64_t labels = out.labels;
  const bool has_transitions = reader.choice("transitions", answers) == 1;
  out.unigrams = table(reader, "unigrams");
  out.bigrams = table(reader, "bigrams");
  out.label_names = reader.strings("labels", labels);
  if (out.label_names.size() != labels)
    reader.fail("no labels, expected tensors labels.bytes and labels.offsets of " + std::to_string(labels));
  out.bias = block(reader, "bias", {labels});
  out.weight = block(reader, "weight", {out.unigrams.size, labels});
  out.transition = block(reader, "transition", {has_transitions ? labels : 0, labels});
  out.pair = block(reader, "pair", {out.bigrams.size, labels, labels});
  out.normalizer = normalizer(reader, out.unigrams.size);
  return out;
}

void check_crf_strings(const CrfLayout& layout, const std::string& file_name) {
  const std::string where = file_name + ": tensor ";
  check_strings(layout.label_names, where + "labels");
  check_strings(layout.unigrams.names, where + "unigrams");
  check_strings(layout.bigrams.names, where + "bigrams");
  check_index(layout.unigrams.index, layout.unigrams.names, where + "unigrams.index");
  check_index(layout.bigrams.index, layout.bigrams.names, where + "bigrams.index");
}

}  // namespace selfnorm::runtime

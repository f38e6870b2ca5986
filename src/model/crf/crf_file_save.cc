// The part of the file of a CRF that writes. Attributes without any weight, which is what L1 makes of most,
// are left out: a reader ignores them as it ignores unseen ones.
#include <fmt/format.h>

#include <algorithm>

#include "selfnorm/model/model_file.h"
#include "selfnorm/model/stored_record.h"
#include "selfnorm/model/string_column.h"
#include "selfnorm/runtime/crf_layout.h"
#include "stored_crf.h"

namespace selfnorm {
namespace {

using runtime::Dtype;

// Rows of `width` numbers that are not all zero, with their names.
struct UsedRows {
  std::vector<std::string> names;
  std::vector<float> values;
  std::vector<size_t> row;

  UsedRows(const std::vector<std::string>& all, std::span<const float> numbers, size_t width,
           std::span<const float> also) {
    for (size_t a = 0; a < all.size(); ++a) {
      const std::span<const float> weights = numbers.subspan(a * width, width);
      const bool is_zero = std::all_of(weights.begin(), weights.end(), [](float w) { return w == 0; });
      if (is_zero && (also.empty() || also[a] == 0)) continue;
      names.push_back(all[a]);
      values.insert(values.end(), weights.begin(), weights.end());
      row.push_back(a);
    }
  }
};

// Short lists are searched without an index.
std::vector<uint32_t> slots_of(const std::vector<std::string>& names) {
  return names.size() < kIndexedLabels ? std::vector<uint32_t>() : index_slots(names);
}

}  // namespace

void save_crf(const CrfModel& model, const std::string& path) {
  with_errors_of(path, [&] { check_crf(model, path); });
  const SequenceEncoder& encoder = model.encoder;
  const CrfShape& shape = model.shape;
  const uint64_t labels = shape.labels;
  const std::span<const float> theta(model.theta);
  const UsedRows unigrams(encoder.unigrams, theta, labels, model.normalizer.slope);
  const UsedRows bigrams(encoder.bigrams, theta.subspan(shape.pair()), labels * labels, {});
  std::vector<float> slope;
  if (!model.normalizer.slope.empty())
    for (const size_t a : unigrams.row) slope.push_back(model.normalizer.slope[a]);

  const Metadata metadata = {
      {"format", std::string(runtime::kFormat)},
      {"format_version", std::string(runtime::kFormatVersion)},
      {"family", std::string(runtime::kCrfFamily)},
      {"sequence_format", std::string(kSequenceFormats[static_cast<size_t>(encoder.format) - 1])},
      {"columns", std::to_string(encoder.columns)},
      {"target", std::to_string(encoder.target)},
      {"templates", encoder.templates.text},
      {"labels", std::to_string(labels)},
      {"unigrams", std::to_string(unigrams.names.size())},
      {"bigrams", std::to_string(bigrams.names.size())},
      {"transitions", shape.has_transitions ? "yes" : "no"},
      {"normalizer", model.normalizer.exists ? "linear" : "none"},
      {"normalizer_per_position", fmt::format("{}", model.normalizer.per_position)},
      {"normalizer_per_sentence", fmt::format("{}", model.normalizer.per_sentence)},
      {"objective", model.objective_json},
      {"training", model.training_json},
      {"audit", model.audit_json}};
  std::vector<runtime::Tensor> tensors;
  const auto add = [&tensors](const char* name, std::vector<uint64_t> sizes, std::span<const float> values) {
    if (!values.empty()) tensors.push_back(make_tensor(name, Dtype::F32, std::move(sizes), values));
  };
  add("weight", {unigrams.names.size(), labels}, unigrams.values);
  add("transition", {labels, labels}, theta.subspan(shape.transition(), shape.pair() - shape.transition()));
  add("pair", {bigrams.names.size(), labels, labels}, bigrams.values);
  add("bias", {labels}, theta.subspan(shape.bias(), labels));
  add("normalizer.slope", {slope.size()}, slope);
  const StringColumn label_names(encoder.labels), unigram_names(unigrams.names), bigram_names(bigrams.names);
  label_names.add_to(tensors, "labels");
  unigram_names.add_to(tensors, "unigrams");
  bigram_names.add_to(tensors, "bigrams");
  const std::vector<uint32_t> unigram_slots = slots_of(unigrams.names),
                              bigram_slots = slots_of(bigrams.names);
  const auto add_index = [&tensors](const char* name, std::span<const uint32_t> slots) {
    if (!slots.empty()) tensors.push_back(make_tensor(name, Dtype::U32, {slots.size()}, slots));
  };
  add_index("unigrams.index", unigram_slots);
  add_index("bigrams.index", bigram_slots);
  write_safetensors(path, std::move(tensors), metadata);
}

}  // namespace selfnorm

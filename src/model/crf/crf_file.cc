// The file of a CRF (selfnorm/runtime/crf_layout.h): reading, checking, writing.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "base/failure.h"
#include "data/string_index.h"
#include "model/crf/crf_model.h"
#include "model/model_file.h"
#include "model/stored_record.h"
#include "selfnorm/runtime/checksum.h"
#include "selfnorm/runtime/crf_layout.h"

namespace selfnorm {
namespace {

// In the order of SequenceFormat without `automatic`, which no model has.
constexpr std::array<std::string_view, 3> kSequenceFormats = {"columns", "conllu", "attributes"};

// Throws Error naming the file when the parts of a model do not fit each other or a number is not finite.
void check_crf(const CrfModel& model, const std::string& name);

using runtime::CrfLayout;
using runtime::LayoutReader;

// Of a layout whose strings were checked.
SequenceEncoder encoder_of(const LayoutReader& reader, const CrfLayout& layout) {
  SequenceEncoder encoder;
  encoder.format = static_cast<SequenceFormat>(reader.choice("sequence_format", kSequenceFormats) + 1);
  encoder.columns = reader.number<uint32_t>("columns");
  encoder.target = reader.number<uint32_t>("target");
  encoder.labels = strings_of(layout.label_names);
  encoder.unigrams = strings_of(layout.unigrams.names);
  encoder.bigrams = strings_of(layout.bigrams.names);
  encoder.has_transitions = !layout.transition.empty();
  const std::string text(reader.metadata("templates"));
  if (!text.empty()) encoder.templates = parse_templates(text, reader.name + ": templates");
  return encoder;
}

CrfModel read_crf(std::span<const std::byte> bytes, const std::string& name) {
  const runtime::Safetensors file = runtime::parse_safetensors(bytes, name);
  const LayoutReader reader{file, name};
  check_family(reader, runtime::kCrfFamily, "a chain");
  const CrfLayout layout = runtime::read_crf_layout(file, name);
  runtime::check_crf_strings(layout, name);
  CrfModel model;
  model.encoder = encoder_of(reader, layout);
  model.shape = {layout.labels, layout.unigrams.size, layout.bigrams.size, model.encoder.has_transitions};
  for (const std::span<const float> block : {layout.weight, layout.transition, layout.pair, layout.bias})
    model.theta.insert(model.theta.end(), block.begin(), block.end());
  model.normalizer = {layout.normalizer.exists,
                      layout.normalizer.per_position,
                      layout.normalizer.per_sentence,
                      {layout.normalizer.slope.begin(), layout.normalizer.slope.end()}};
  read_records(reader, model);
  check_crf(model, name);
  runtime::require_checksum(bytes, name);
  return model;
}

class CrfCheck {
 public:
  CrfCheck(const CrfModel& model, const std::string& name) : model_(model), name_(name) {}

  void run() const {
    const SequenceEncoder& encoder = model_.encoder;
    const CrfShape& shape = model_.shape;
    names(encoder.labels, "labels", shape.labels);
    names(encoder.unigrams, "unigram attributes", shape.unigrams);
    names(encoder.bigrams, "bigram attributes", shape.bigrams);
    if (shape.labels < 2) fail(fmt::format("{} label(s)", shape.labels), "at least two");
    if (encoder.has_transitions != shape.has_transitions)
      fail("an encoder and parameters that differ in transitions", "the same in both");
    if (model_.theta.size() != shape.size())
      fail(fmt::format("{} parameters", model_.theta.size()), fmt::format("{}", shape.size()));
    finite(model_.theta, "parameters");
    normalizer();
    templates();
    check_records(model_, name_);
  }

 private:
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw_error("{}: found {}, expected {}", name_, found, expected);
  }

  void finite(const std::vector<float>& values, const char* what) const {
    if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }))
      fail(fmt::format("{} that are not finite", what), "finite numbers");
  }

  void names(const std::vector<std::string>& list, const char* what, uint64_t n) const {
    if (list.size() != n) fail(fmt::format("{} {}", list.size(), what), fmt::format("{}", n));
    StringIndex seen;
    for (const std::string& text : list) {
      const uint32_t before = seen.size();
      seen.add(text);
      if (seen.size() == before) fail(fmt::format("'{}' twice among the {}", text, what), "different ones");
    }
  }

  void normalizer() const {
    const CrfNormalizer& b = model_.normalizer;
    if (!std::isfinite(b.per_position) || !std::isfinite(b.per_sentence))
      fail("a normalizer that is not finite", "finite numbers");
    if (!b.exists && (b.per_position != 0 || b.per_sentence != 0 || !b.slope.empty()))
      fail("the numbers of a normalizer that does not exist", "none");
    if (!b.slope.empty() && b.slope.size() != model_.shape.unigrams)
      fail(fmt::format("{} slopes of the normalizer", b.slope.size()),
           fmt::format("{}, or none", model_.shape.unigrams));
    finite(b.slope, "slopes of the normalizer");
  }

  void templates() const {
    const SequenceEncoder& encoder = model_.encoder;
    if (encoder.format == SequenceFormat::automatic) fail("an open format of the data", "a known one");
    if (encoder.format == SequenceFormat::attributes) {
      if (!encoder.templates.list.empty()) fail("templates of attribute files", "none");
      return;
    }
    if (encoder.target >= encoder.columns || encoder.templates.columns() > encoder.columns)
      fail(fmt::format("target column {} and templates of {} columns", encoder.target + 1,
                       encoder.templates.columns()),
           fmt::format("columns among the {} of the data", encoder.columns));
  }

  const CrfModel& model_;
  const std::string& name_;
};

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

void check_crf(const CrfModel& model, const std::string& name) { CrfCheck(model, name).run(); }

class SequencesCheck {
 public:
  SequencesCheck(const Sequences& data, const CrfShape& shape, const char* role)
      : data_(data), shape_(shape), role_(role) {}

  void run(NeededLabels needed) const {
    if (data_.sentence_begin.empty() || data_.sentences() == 0) fail("no sentences", "at least one");
    if (data_.sentence_begin.front() != 0) fail("a first sentence that does not begin at 0", "0");
    for (uint64_t i = 0; i < data_.sentences(); ++i)
      if (data_.sentence_begin[i] >= data_.sentence_begin[i + 1])
        fail(fmt::format("sentence {} without tokens", i + 1), "at least one token");
    rows(data_.unigram, "unigram", shape_.unigrams, false);
    rows(data_.bigram, "bigram", shape_.bigrams, true);
    labels(needed);
  }

 private:
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw_error("{}: found {}, expected {}", role_, found, expected);
  }

  void rows(const AttributeRows& rows, const char* kind, uint64_t attributes, bool may_be_absent) const {
    const bool absent = may_be_absent && rows.begin.size() == 1 && rows.attribute.empty();
    if (absent) return;
    if (rows.begin.size() != data_.positions() + 1)
      fail(fmt::format("{} rows of {} attributes", rows.begin.size() - 1, kind),
           fmt::format("{}, one a token", data_.positions()));
    if (rows.begin.front() != 0 || rows.begin.back() != rows.attribute.size() ||
        !std::is_sorted(rows.begin.begin(), rows.begin.end()))
      fail(fmt::format("{} rows that do not cover their attributes", kind), "increasing offsets from 0");
    if (!rows.value.empty() && rows.value.size() != rows.attribute.size())
      fail(fmt::format("{} values for {} {} attributes", rows.value.size(), rows.attribute.size(), kind),
           "as many, or none");
    for (const uint32_t a : rows.attribute)
      if (a >= attributes)
        fail(fmt::format("{} attribute {}", kind, a), fmt::format("numbers below {}", attributes));
    if (!std::all_of(rows.value.begin(), rows.value.end(), [](float v) { return std::isfinite(v); }))
      fail(fmt::format("a value of a {} attribute that is not finite", kind), "finite values");
  }

  void labels(NeededLabels needed) const {
    if (data_.label.size() != data_.positions())
      fail(fmt::format("{} labels", data_.label.size()), fmt::format("{}, one a token", data_.positions()));
    const uint64_t labels = shape_.labels + (needed == NeededLabels::known ? 0 : data_.unseen.labels.size());
    for (uint64_t t = 0; t < data_.label.size(); ++t) {
      if (data_.label[t] < labels || (data_.label[t] == kNoLabel && needed == NeededLabels::none)) continue;
      fail(data_.label[t] == kNoLabel ? fmt::format("token {} without a label", t + 1)
                                      : fmt::format("label {}", data_.label[t]),
           fmt::format("one of the {} labels of the model on every token", shape_.labels));
    }
  }

  const Sequences& data_;
  const CrfShape& shape_;
  const char* role_;
};

}  // namespace

CrfModel load_crf(const std::string& path) {
  return with_errors_of(path,
                        [&] { return read_mapped(path, [&](auto bytes) { return read_crf(bytes, path); }); });
}

// Attributes without any weight, which is what L1 makes of most,
// are left out: a reader ignores them as it ignores unseen ones.
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

  Metadata metadata = model_metadata(runtime::kCrfFamily, model);
  metadata.insert(
      {{"sequence_format", std::string(kSequenceFormats[static_cast<size_t>(encoder.format) - 1])},
       {"columns", std::to_string(encoder.columns)},
       {"target", std::to_string(encoder.target)},
       {"templates", encoder.templates.text},
       {"labels", std::to_string(labels)},
       {"unigrams", std::to_string(unigrams.names.size())},
       {"bigrams", std::to_string(bigrams.names.size())},
       {"transitions", shape.has_transitions ? "yes" : "no"},
       {"normalizer", model.normalizer.exists ? "linear" : "none"},
       {"normalizer_per_position", fmt::format("{}", model.normalizer.per_position)},
       {"normalizer_per_sentence", fmt::format("{}", model.normalizer.per_sentence)}});
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

void check_sequences(const Sequences& data, const CrfShape& shape, const char* role, NeededLabels needed) {
  SequencesCheck(data, shape, role).run(needed);
}

}  // namespace selfnorm

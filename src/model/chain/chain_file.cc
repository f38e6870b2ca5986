// The part of the file of a chain that reads.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "selfnorm/model/stored_record.h"
#include "selfnorm/runtime/mapped_file.h"
#include "stored_chain.h"

namespace selfnorm {
namespace {

using runtime::Dtype;
using runtime::LayoutReader;

SequenceEncoder encoder_of(const LayoutReader& reader, const ChainShape& shape) {
  SequenceEncoder encoder;
  encoder.format = static_cast<SequenceFormat>(reader.choice("sequence_format", kSequenceFormats) + 1);
  encoder.columns = reader.number<uint32_t>("columns");
  encoder.target = reader.number<uint32_t>("target");
  encoder.labels = stored_strings(reader, "labels", shape.labels);
  encoder.unigrams = stored_strings(reader, "unigrams", shape.unigrams);
  encoder.bigrams = stored_strings(reader, "bigrams", shape.bigrams);
  encoder.has_transitions = shape.has_transitions;
  const std::string text(reader.metadata("templates"));
  if (!text.empty()) encoder.templates = parse_templates(text, reader.name + ": templates");
  return encoder;
}

ChainShape shape_of(const LayoutReader& reader) {
  constexpr std::array<std::string_view, 2> answers = {"no", "yes"};
  ChainShape shape;
  shape.labels = reader.number<uint32_t>("labels");
  shape.unigrams = reader.number<uint32_t>("unigrams");
  shape.bigrams = reader.number<uint32_t>("bigrams");
  shape.has_transitions = reader.choice("transitions", answers) == 1;
  return shape;
}

// The blocks of theta are there when they have elements; the file is as long as they say, so that sizes are
// checked before room is taken.
std::vector<float> theta_of(const LayoutReader& reader, const ChainShape& shape) {
  const uint64_t labels = shape.labels;
  std::vector<float> theta;
  const auto append = [&](const char* name, std::vector<uint64_t> sizes) {
    const std::span<const float> values = reader.tensor<float>(name, Dtype::F32, std::move(sizes));
    theta.insert(theta.end(), values.begin(), values.end());
  };
  if (shape.unigrams > 0) append("weight", {shape.unigrams, labels});
  if (shape.has_transitions) append("transition", {labels, labels});
  if (shape.bigrams > 0) append("pair", {shape.bigrams, labels, labels});
  append("bias", {labels});
  return theta;
}

ChainNormalizer normalizer_of(const LayoutReader& reader, const ChainShape& shape) {
  constexpr std::array<std::string_view, 2> kinds = {"none", "linear"};
  ChainNormalizer out;
  out.exists = reader.choice("normalizer", kinds) == 1;
  out.per_position = reader.number<double>("normalizer_per_position");
  out.per_sentence = reader.number<double>("normalizer_per_sentence");
  const std::span<const float> slope = reader.optional_floats("normalizer.slope", shape.unigrams);
  out.slope.assign(slope.begin(), slope.end());
  return out;
}

void refuse_unexpected(const LayoutReader& reader) {
  static const std::set<std::string_view> known = {"labels.bytes",
                                                   "labels.offsets",
                                                   "unigrams.bytes",
                                                   "unigrams.offsets",
                                                   "bigrams.bytes",
                                                   "bigrams.offsets",
                                                   "weight",
                                                   "transition",
                                                   "pair",
                                                   "bias",
                                                   "normalizer.slope"};
  for (const runtime::Tensor& tensor : reader.file.tensors)
    if (!known.contains(tensor.name)) reader.fail("unexpected tensor \"" + tensor.name + "\"");
}

ChainModel read_chain(std::span<const std::byte> bytes, const std::string& name) {
  const runtime::Safetensors file = runtime::parse_safetensors(bytes, name);
  const LayoutReader reader{file, name};
  check_family(reader, kChainFamily, "a chain");
  refuse_unexpected(reader);
  ChainModel model;
  model.shape = shape_of(reader);
  model.theta = theta_of(reader, model.shape);
  model.encoder = encoder_of(reader, model.shape);
  model.normalizer = normalizer_of(reader, model.shape);
  model.objective_json = reader.metadata("objective");
  model.training_json = reader.metadata("training");
  model.audit_json = reader.metadata("audit");
  check_chain(model, name);
  return model;
}

}  // namespace

bool is_chain_file(const std::string& path) { return is_family_file(path, kChainFamily); }

ChainModel load_chain(const std::string& path) {
  return with_errors_of(path, [&path] {
    const runtime::MappedFile file(path);
    file.expect_scan();
    return read_chain(file.bytes(), path);
  });
}

}  // namespace selfnorm

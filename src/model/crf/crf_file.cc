// The part of the file of a CRF that reads.
#include "selfnorm/model/stored_record.h"
#include "selfnorm/model/string_column.h"
#include "selfnorm/runtime/checksum.h"
#include "selfnorm/runtime/crf_layout.h"
#include "selfnorm/runtime/mapped_file.h"
#include "stored_crf.h"

namespace selfnorm {
namespace {

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
  model.objective_json = reader.metadata("objective");
  model.training_json = reader.metadata("training");
  model.audit_json = reader.metadata("audit");
  check_crf(model, name);
  runtime::require_checksum(bytes, name);
  return model;
}

}  // namespace

bool is_crf_file(const std::string& path) { return is_family_file(path, runtime::kCrfFamily); }

CrfModel load_crf(const std::string& path) {
  return with_errors_of(path, [&path] {
    const runtime::MappedFile file(path);
    file.expect_scan();
    return read_crf(file.bytes(), path);
  });
}

}  // namespace selfnorm

#include "crf/crf_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/failure.h"
#include "classifier/model_header.h"
#include "commands.h"
#include "data/sentences/read_sequences.h"
#include "output.h"

namespace selfnorm::cli {
namespace {

std::vector<std::string> template_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  return lines;
}

}  // namespace

std::vector<std::string> sequence_format_names() { return {"auto", "columns", "conllu", "attributes"}; }

SequenceFormat sequence_format_of(const std::string& name) {
  const std::vector<std::string> names = sequence_format_names();
  const auto found = std::ranges::find(names, name);
  SELFNORM_CHECK(found != names.end());
  return static_cast<SequenceFormat>(found - names.begin());
}

NamedCrf open_crf(const std::string& model) {
  const std::string path = finished_model_path(model);
  return {path, load_crf(path)};
}

SequenceEncoder reading_encoder(const SequenceEncoder& own, const std::string& format,
                                const std::string& model) {
  const std::vector<std::string> names = sequence_format_names();
  if (std::ranges::find(names, format) == names.end())
    throw_error("--format {}: {} is a CRF; expected {}", format, model, fmt::join(names, ", "));
  try {
    return encoder_for(own, sequence_format_of(format));
  } catch (const Error& error) {
    throw_error("--format {}: {}: {}", format, model, error.what());
  }
}

NamedCrf open_crf(const std::string& model, const std::string& format) {
  NamedCrf out = open_crf(model);
  out.model.encoder = reading_encoder(out.model.encoder, format, model);
  return out;
}

void refuse_sentences(const Arguments& arguments, const std::string& model) {
  const std::string& format = arguments.reader.format;
  std::vector<std::string> names = sequence_format_names();
  names.push_back("sentences");
  if (format != "auto" && std::ranges::find(names, format) != names.end())
    throw_error("--format {} is of sentences; {} is no chain", format, model);
}

std::string sentences_text(const std::string& path, const SequenceEncoder& encoder, const Sequences& data) {
  return fmt::format("{}: {}, {} sentences, {} tokens", path,
                     sequence_format_names()[static_cast<size_t>(encoder.format)], grouped(data.sentences()),
                     grouped(data.positions()));
}

Json crf_info(const Arguments& arguments) {
  constexpr size_t kShown = 20;
  const auto [path, model] = open_crf(arguments.info_model);
  const SequenceEncoder& encoder = model.encoder;
  Json info = {{"path", path},
               {"bytes", std::filesystem::file_size(path)},
               {"family", "chain"},
               {"format", sequence_format_names()[static_cast<size_t>(encoder.format)]}};
  if (encoder.format != SequenceFormat::attributes) {
    info["columns"] = encoder.columns;
    info["target"] = encoder.target;
    info["templates"] = template_lines(encoder.templates.text);
  }
  info["classes"] = model.shape.labels;
  info["unigram_attributes"] = model.shape.unigrams;
  info["bigram_attributes"] = model.shape.bigrams;
  info["transitions"] = model.shape.has_transitions;
  info["parameters"] = model.theta.size();
  if (const CrfNormalizer& b = model.normalizer; b.exists)
    info["normalizer"] = {{"kind", "linear"},
                          {"per_sentence", b.per_sentence},
                          {"per_token", b.per_position},
                          {"attributes", b.slope.size()}};
  info["objective"] = Json::parse(model.objective_json);
  info["training"] = Json::parse(model.training_json);
  info["audit"] = Json::parse(model.audit_json);
  const auto& labels = encoder.labels;
  info["labels"] = std::vector<std::string>(
      labels.begin(), labels.begin() + static_cast<ptrdiff_t>(std::min(kShown, labels.size())));
  return info;
}

}  // namespace selfnorm::cli

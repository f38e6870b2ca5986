#include "run/shown_rows.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "classifier/model_header.h"
#include "crf/crf_model.h"
#include "data/input/source.h"
#include "data/read.h"
#include "data/sentences/read_sequences.h"
#include "engine/checkpoint.h"
#include "model/stored_record.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

constexpr uint32_t kConlluForms = 1;  // the column of the word forms

using RowTexts = std::map<uint64_t, std::string>;

RowTexts sentence_texts(const std::string& path, const std::string& model, std::span<const uint64_t> wanted) {
  const NamedCrf crf = open_crf(model);
  const SequenceEncoder& encoder = crf.model.encoder;
  RowTexts out;
  if (encoder.format == SequenceFormat::attributes) return out;
  const uint32_t column = encoder.format == SequenceFormat::conllu ? kConlluForms
                          : encoder.target == 0                    ? 1
                                                                   : 0;
  SequenceStream stream(path, encoder, false);
  Sequences sentence;
  SentenceText text;
  const uint64_t last = *std::ranges::max_element(wanted);
  for (uint64_t number = 0; number <= last && stream.next(sentence, text); ++number) {
    if (std::ranges::find(wanted, number) == wanted.end()) continue;
    std::string words;
    for (const std::vector<std::string>& token : text.tokens)
      if (column < token.size()) words += (words.empty() ? "" : " ") + token[column];
    out.emplace(number, shown_row(words));
  }
  return out;
}

// Standard input and pipes have gone by: who opens one again waits for ever.
bool can_be_read_again(const std::string& path) {
  const std::vector<std::string> files = files_of_path(path);
  return std::ranges::all_of(files, [](const auto& file) { return std::filesystem::is_regular_file(file); });
}

// Where the inputs of the table are; empty: they have no text.
std::string shown_path(const Arguments& arguments) {
  if (arguments.command == "audit") return arguments.audit.data;
  if (arguments.command == "train lm") return "";
  if (arguments.command == "train regressor" && !arguments.regressor.test.empty())
    return arguments.regressor.test;
  const RunArguments& run = arguments.run();
  return run.valid.empty() ? run.train : run.valid;
}

void add_column(const RowTexts& texts, Table& table) {
  table.columns.emplace_back("as it is written");
  for (std::vector<Cell>& row : table.rows) {
    const double* number = std::get_if<double>(&row.at(0));
    const auto found = number == nullptr ? texts.end() : texts.find(static_cast<uint64_t>(*number));
    row.emplace_back(found == texts.end() ? std::string() : found->second);
  }
}

}  // namespace

void show_worst_rows(const Arguments& arguments, const std::string& model, ReportDocument& document) {
  const std::string path = shown_path(arguments);
  for (ReportSection& section : document.sections)
    for (ReportTable& shown : section.tables) {
      if (shown.id != "worst" || path.empty()) continue;
      std::vector<uint64_t> wanted;
      for (const std::vector<Cell>& row : shown.table.rows)
        if (const double* number = std::get_if<double>(&row.at(0)))
          wanted.push_back(static_cast<uint64_t>(*number));
      if (wanted.empty()) continue;
      try {
        if (!can_be_read_again(path)) continue;
        const bool is_crf = identity_of(finished_model_path(model)).family == "chain";
        const RowTexts texts =
            is_crf ? sentence_texts(path, model, wanted) : row_texts(path, arguments.reader.options, wanted);
        if (!texts.empty()) add_column(texts, shown.table);
      } catch (const Error&) {  // the file has changed since: the numbers are still right
      }
    }
}

std::string hash_of_files(const std::string& path) {
  try {
    if (!can_be_read_again(path)) return "";
    Fingerprint hash;
    for (const std::string& file : files_of_path(path)) hash.add_file(file);
    return hash.text();
  } catch (const Error&) {
    return "";
  }
}

}  // namespace selfnorm::cli

#include "selfnorm/data/sequence/encoder_for.h"

#include <fmt/format.h>

#include <set>

#include "selfnorm/base/error.h"
#include "token_reader.h"

namespace selfnorm {
namespace {

bool is_macro(const TemplateItem& item) { return item.kind != TemplateItem::Kind::literal; }

bool reads_one_column(const FeatureTemplates& templates) {
  std::set<uint32_t> columns;
  for (const FeatureTemplate& one : templates.list)
    for (const TemplateItem& item : one.items)
      if (is_macro(item)) columns.insert(item.column);
  return columns.size() <= 1;
}

void read_column(uint32_t column, FeatureTemplates& templates) {
  for (FeatureTemplate& one : templates.list)
    for (TemplateItem& item : one.items)
      if (is_macro(item)) item.column = column;
}

SequenceEncoder for_attributes(SequenceEncoder encoder) {
  if (!encoder.bigrams.empty())
    throw Error(
        fmt::format("the model has {} attributes of pairs of labels, which its templates make and attribute "
                    "files have not; give it data in the format it was trained on",
                    encoder.bigrams.size()));
  encoder.templates = {};
  encoder.columns = encoder.target = 0;
  return encoder;
}

}  // namespace

SequenceEncoder encoder_for(const SequenceEncoder& encoder, SequenceFormat format) {
  SequenceEncoder out = encoder;
  if (format == SequenceFormat::automatic || format == encoder.format) return out;
  if (encoder.format == SequenceFormat::attributes)
    throw Error(
        "the model was trained on attributes and has no templates that make them of columns; give it "
        "attributes");
  out.format = format;
  if (format == SequenceFormat::attributes) return for_attributes(std::move(out));
  const bool is_conllu = format == SequenceFormat::conllu;
  if (is_conllu && encoder.columns == kConlluColumns) return out;
  if (reads_one_column(encoder.templates)) {
    read_column(is_conllu ? kConlluForm : 0, out.templates);
    out.columns = is_conllu ? kConlluColumns : 2;
    out.target = is_conllu ? kConlluUpos : 1;
    return out;
  }
  if (is_conllu)
    throw Error(
        fmt::format("the templates of the model read several of the {} columns it was trained on, which have "
                    "no counterpart in CoNLL-U; give it such columns",
                    encoder.columns));
  return out;
}

}  // namespace selfnorm

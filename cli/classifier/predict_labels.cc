#include <algorithm>
#include <cmath>

#include "answer_sheet.h"
#include "base/failure.h"
#include "classifier/model_header.h"
#include "classifier/runtime_model.h"
#include "commands.h"
#include "data/input/records.h"
#include "live_rows.h"
#include "output.h"
#include "run/reading_note.h"
#include "table_columns.h"

namespace selfnorm::cli {
namespace {

using Cells = std::vector<AnswerSheet::Cell>;

// "label", "label_2", ...
std::string ranked(const std::string& name, size_t rank) {
  return rank == 0 ? name : fmt::format("{}_{}", name, rank + 1);
}

class LabelSheet {
 public:
  LabelSheet(const Arguments& arguments, const ModelHeader& header, size_t top)
      : header_(header),
        kept_(arguments.predict.keep, arguments.predict.data, arguments.reader.options.header),
        top_(top),
        shows_text_(header.schema.text.has_value()),
        sheet_(arguments, columns(arguments, top, header.schema.text.has_value()),
               {{"model", header.path}, {"data", arguments.predict.data}, {"kind", "exact"}}) {}

  void answer(uint64_t row, const std::vector<Candidate>& best, std::string_view text) {
    if (sheet_.is_json()) return sheet_.put(json_line(object(row, best, answers_++)));
    Cells cells{row};
    kept_.add(answers_++, cells);
    for (size_t i = 0; i < top_; ++i) {
      const bool is_there = i < best.size();
      cells.push_back(is_there ? AnswerSheet::Cell(label(best[i].index)) : AnswerSheet::Cell());
      cells.push_back(is_there ? AnswerSheet::Cell(std::exp(best[i].log_prob)) : AnswerSheet::Cell());
      if (i == 0 && !sheet_.is_table()) cells.push_back(best[0].log_prob);
    }
    if (shows_text_ && sheet_.is_table()) cells.push_back(std::string(text));
    sheet_.row(std::move(cells));
  }
  void flush() { sheet_.flush(); }
  void finish() { sheet_.finish(); }

 private:
  static std::vector<std::string> columns(const Arguments& arguments, size_t top, bool has_text) {
    const bool is_table = is_table_for(arguments);
    std::vector<std::string> names{"row"};
    names.insert(names.end(), arguments.predict.keep.begin(), arguments.predict.keep.end());
    for (size_t i = 0; i < top; ++i) {
      names.push_back(ranked("label", i));
      names.push_back(ranked("probability", i));
      if (i == 0 && !is_table) names.push_back("log_prob");
    }
    if (has_text && is_table) names.push_back("text");
    return names;
  }
  std::string label(uint32_t index) const {
    const ClassNames& labels = header_.schema.labels;
    return index < labels.size() ? labels[index] : std::to_string(index);
  }
  Json object(uint64_t row, const std::vector<Candidate>& best, uint64_t answer) const {
    const auto one = [this](const Candidate& c) {
      return Json{{"label", label(c.index)}, {"probability", std::exp(c.log_prob)}, {"log_prob", c.log_prob}};
    };
    Json out = {{"row", row}};
    kept_.add(answer, out);
    out.update(one(best[0]));
    if (top_ == 1) return out;
    out["top"] = Json::array();
    for (const Candidate& c : best) out["top"].push_back(one(c));
    return out;
  }

  const ModelHeader& header_;
  KeptColumns kept_;
  uint64_t answers_ = 0;
  size_t top_;
  bool shows_text_;
  AnswerSheet sheet_;
};

std::string_view text_of(std::string_view line) {
  const size_t tab = line.find('\t');
  return tab == std::string_view::npos ? line : line.substr(tab + 1);
}

void answer_rows(const RuntimeModel& model, const RowBlock& block, size_t top, LabelSheet& sheet) {
  const Dataset& data = block.read.data;
  std::string_view rest = block.text;
  uint64_t lines = 0, taken = 0;
  for (uint64_t row = 0; row < data.examples(); ++row) {
    std::string_view line;
    for (; !rest.empty() && taken <= data.numbers[row]; ++taken) line = take_record(rest, {}, lines);
    sheet.answer(block.first + data.numbers[row], model.top(data.features, row, top, SELFNORM_EXACT),
                 text_of(line));
  }
}

uint64_t empty_rows(const Features& x) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < x.sparse.rows(); ++i) count += x.sparse.begin[i] == x.sparse.begin[i + 1] ? 1 : 0;
  return count;
}

// The alternatives of a group by their probability; a label is the place of one in its group.
void answer_groups(const RuntimeModel& model, const Dataset& data, size_t top, LabelSheet& sheet) {
  for (uint64_t group = 0; group < data.examples(); ++group) {
    std::vector<Candidate> all = model.alternatives(data.features, data.group_begin[group],
                                                    data.group_begin[group + 1], SELFNORM_EXACT);
    std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.log_prob > b.log_prob; });
    all.resize(std::min(top, all.size()));
    sheet.answer(data.numbers[group], all, {});
  }
}

}  // namespace

// CSV: row, label, probability, log_prob, then label_2, probability_2, ... with --top.
int predict_labels(const Arguments& arguments) {
  const PredictArguments& given = arguments.predict;
  const ModelHeader header = read_header(given.model, arguments.head);
  const RuntimeModel model(header);
  const uint64_t classes = header.is_joint() ? given.top : header.classes;
  const size_t top = given.top == 0 ? 1 : std::min(given.top, classes);
  ReadOptions options = reading_for(header, arguments.reader.options);
  options.require_labels = false;
  LabelSheet sheet(arguments, header, top);
  uint64_t texts = 0, unknown = 0;
  for_each_block(given.data, options, [&](const RowBlock& block) {
    check_sparse(header, given.data, block.read.data);
    note_reading(given.data, block.read.report);
    if (!given.keep.empty() && block.read.report.format == Format::text)
      throw_error(
          "--keep: {} was read as lines of text, which have no columns; give a table (--format csv) with a "
          "column of the name that the model's text has",
          given.data);
    if (header.is_joint())
      answer_groups(model, block.read.data, top, sheet);
    else
      answer_rows(model, block, top, sheet);
    texts += block.read.data.examples();
    if (header.schema.text) unknown += empty_rows(block.read.data.features);
    sheet.flush();
  });
  sheet.finish();
  if (unknown > 0)
    warning(fmt::format(
        "{}: {} of {} texts have no word that the model knows; their answers are those for an empty text",
        given.data == "-" ? "standard input" : given.data, grouped(unknown), grouped(texts)));
  return 0;
}

}  // namespace selfnorm::cli

#include "run/reading_note.h"

#include <fmt/format.h>

#include "output.h"
#include "selfnorm/data/string_index.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kShownRows = 5;

std::string counted(uint64_t n, const char* unit) {
  return fmt::format("{} {}{}", grouped(n), unit, n == 1 ? "" : "s");
}

void warn_unseen(const std::string& path, const std::string& found, const std::string& label,
                 const std::string& place) {
  warning(
      fmt::format("{}: found {} with a label that the model has not seen in training, the first '{}' ({}); "
                  "they count as wrong, and likelihoods leave them out (with them log-likelihood is -inf)",
                  path, found, shown_label(label), place));
}

}  // namespace

std::string reading_text(const std::string& path, const ReadResult& read) {
  const Dataset& data = read.data;
  std::string text = fmt::format("{}: {}, ", path, format_name(read.report.format));
  text += data.is_joint() ? fmt::format("{} groups of {} alternatives, {} features", grouped(data.examples()),
                                        grouped(data.features.rows()), grouped(data.features.columns()))
                          : fmt::format("{} rows, {} features, {} classes", grouped(data.examples()),
                                        grouped(data.features.columns()), grouped(data.classes()));
  if (!read.report.bad.empty()) text += fmt::format(", {} bad rows skipped", grouped(read.report.bad.size()));
  return text;
}

std::string vectors_text(const std::string& path, const WordVectors& vectors, uint64_t words) {
  return fmt::format("{}: embeddings of {} of {} words", path, grouped(vectors.found), grouped(words));
}

void note_bad_rows(const std::string& path, const ReadReport& report) {
  for (size_t i = 0; i < report.bad.size() && i < kShownRows; ++i) {
    warning(fmt::format("{}:{}: skipped: {}", path, report.bad[i].line, report.bad[i].message));
  }
  if (report.bad.size() > kShownRows) {
    warning(fmt::format("{}: {} bad rows skipped in all", path, grouped(report.bad.size())));
  }
}

void note_unseen(const std::string& path, const UnseenLabels& unseen) {
  if (unseen.examples > 0)
    warn_unseen(path, counted(unseen.examples, "row"), unseen.label,
                fmt::format("row {}, counted from 0", unseen.first));
}

void note_unseen(const std::string& path, const Sequences& data) {
  if (data.unseen.tokens > 0)
    warn_unseen(path, counted(data.unseen.tokens, "token"), data.unseen.labels[0],
                fmt::format("line {}", data.unseen.line));
}

std::string unseen_words(uint64_t unseen) {
  return unseen == 0 ? "" : fmt::format(" without {} (with them inf)", counted(unseen, "unseen label"));
}

}  // namespace selfnorm::cli

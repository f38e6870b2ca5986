#include "reading_note.h"

#include <fmt/format.h>

#include "output.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kShownRows = 5;

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

}  // namespace selfnorm::cli

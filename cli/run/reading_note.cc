#include "run/reading_note.h"

#include <fmt/format.h>

#include "base/near_name.h"
#include "data/string_index.h"
#include "output.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kShownRows = 5;

std::string counted(uint64_t n, const char* unit) {
  return fmt::format("{} {}{}", grouped(n), unit, n == 1 ? "" : "s");
}

std::string unseen_text(const std::string& path, const std::string& found, const std::string& label,
                        const std::string& place) {
  return fmt::format(
      "{}: found {} with a label that the model has not seen in training, the first '{}' ({}); they count as "
      "wrong, and likelihoods leave them out (with them log-likelihood is -inf)",
      path_text(path), found, shown_label(label), place);
}

void say(const std::vector<std::string>& warnings) {
  for (const std::string& text : warnings) warning(text);
}

}  // namespace

std::string reading_text(const std::string& path, const ReadResult& read) {
  const Dataset& data = read.data;
  std::string text = fmt::format("{}: {}, ", path_text(path), format_name(read.report.format));
  text += data.is_joint() ? fmt::format("{} groups of {} alternatives, {} features", grouped(data.examples()),
                                        grouped(data.features.rows()), grouped(data.features.columns()))
                          : fmt::format("{} rows, {} features, {} classes", grouped(data.examples()),
                                        grouped(data.features.columns()), grouped(data.classes()));
  if (!read.report.bad.empty()) text += fmt::format(", {} bad rows skipped", grouped(read.report.bad.size()));
  return text;
}

std::vector<std::string> bad_row_warnings(const std::string& path, const ReadReport& report) {
  std::vector<std::string> out;
  for (size_t i = 0; i < report.bad.size() && i < kShownRows; ++i)
    out.push_back(fmt::format("{}: skipped: {}", place_text(path_text(path), report.bad[i].line),
                              report.bad[i].message));
  if (report.bad.size() > kShownRows)
    out.push_back(fmt::format("{}: {} bad rows skipped in all", path_text(path), grouped(report.bad.size())));
  return out;
}

std::vector<std::string> unseen_warnings(const std::string& path, const UnseenLabels& unseen) {
  if (unseen.examples == 0) return {};
  return {unseen_text(path, counted(unseen.examples, "row"), unseen.label,
                      fmt::format("row {}, counted from 0", unseen.first))};
}

std::vector<std::string> unseen_warnings(const std::string& path, const Sequences& data) {
  if (data.unseen.tokens == 0) return {};
  return {unseen_text(path, counted(data.unseen.tokens, "token"), data.unseen.labels[0],
                      fmt::format("line {}", data.unseen.line))};
}

void note_reading(const std::string& path, const ReadReport& report) {
  for (const std::string& text : report.notes) note(fmt::format("{}: {}", path_text(path), text));
  say(bad_row_warnings(path, report));
}
void note_unseen(const std::string& path, const UnseenLabels& unseen) { say(unseen_warnings(path, unseen)); }
void note_unseen(const std::string& path, const Sequences& data) { say(unseen_warnings(path, data)); }

std::string unseen_words(uint64_t unseen) {
  return unseen == 0 ? "" : fmt::format(" without {} (with them inf)", counted(unseen, "unseen label"));
}

void warn_of_doubt(const std::string& path, const std::string& doubt) {
  if (!doubt.empty()) warning(fmt::format("{}: {}", path, doubt));
}

void note_no_sentence(const std::string& path, uint64_t sentences, const char* expected) {
  if (sentences == 0)
    warning(
        fmt::format("{}: found no sentence; expected {}", path == "-" ? "standard input" : path, expected));
}

}  // namespace selfnorm::cli

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "grammar/command_table.h"
#include "objective/registry.h"

namespace selfnorm::cli {
namespace {

// roff: a backslash is an escape, a hyphen would become a dash, a leading dot or quote would be a request.
std::string roff(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '\\' ? "\\\\" : c == '-' ? "\\-" : std::string(1, c);
  if (!escaped.empty() && (escaped[0] == '.' || escaped[0] == '\'')) escaped.insert(0, "\\&");
  return escaped;
}

std::string entry(const OptionRow& option) {
  std::string head = fmt::format("\\fB{}\\fR", roff(option.name));
  if (!option.short_name.empty()) head = fmt::format("\\fB{}\\fR, {}", roff(option.short_name), head);
  if (!option.is_positional && option.kind != ValueKind::kFlag)
    head += fmt::format(" \\fI{}\\fR", roff(option.placeholder()));
  std::string text = roff(option.text);
  if (!option.initial.empty()) text += fmt::format(" (default: {})", roff(option.shown_default()));
  return fmt::format(".TP\n{}\n{}\n", head, text);
}

std::string anchor(std::string path) {
  std::ranges::replace(path, ' ', '-');
  return path;
}

// A cell of a Markdown table.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '_') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string reference_row(const OptionRow& option) {
  const bool has_value = !option.is_positional && option.kind != ValueKind::kFlag;
  const std::string letter = option.short_name.empty() ? "" : fmt::format("`{}`, ", option.short_name);
  return fmt::format(
      "| {}`{}`{} | {} | {} |\n", letter, option.name, has_value ? " " + cell(option.placeholder()) : "",
      option.initial.empty() ? "" : fmt::format("`{}`", option.shown_default()), cell(option.text));
}

std::string objective_table() {
  std::string table =
      "## Objectives\n\nWhich family of models offers an objective, and the options it reads there.\n\n| "
      "objective | what it is | offered by |\n|---|---|---|\n";
  for (const ObjectiveEntry& entry : all_objectives()) {
    std::vector<std::string> offers;
    for (const ObjectiveOffer& offer : entry.offers)
      offers.push_back(offer.options.empty()
                           ? offer.family
                           : fmt::format("{} ({})", offer.family, fmt::join(offer.options, ", ")));
    table += fmt::format("| `{}` | {} | {} |\n", entry.name, cell(entry.text), fmt::join(offers, "; "));
  }
  return table;
}

constexpr const char* kEnd = R"(.SH CONFIGURATION FILE
Every command takes \fB\-\-config\fR \fIFILE\fR, a TOML file whose keys are option names without the leading dashes.
Keys at the top apply to the command if it has such an option; keys under a section named after the command
apply to that command only. The command line wins over the file.
.PP
.nf
    seed = 7
    [train.classifier]
    objective = "penalty"
    alpha = 0.3
.fi
.SH FILES
A run directory holds
.TP
\fBmodel.safetensors\fR
the model: tensors and a metadata record, readable by any safetensors library
.TP
\fBconfig.json\fR
every option of the run as resolved, and what data was read
.TP
\fBmetrics.jsonl\fR
one JSON object per step; likelihood and penalty apart
.TP
\fBcheckpoint.safetensors\fR
the state of an unfinished run; \fB\-\-resume\fR continues it to the same model, bit for bit
.SH ENVIRONMENT
.TP
\fBSELFNORM_ALLOW_CODE\fR
1: as \fB\-\-allow\-code\fR, for services; TorchScript modules are programs and run with the rights of the user
.SH EXIT STATUS
.TP
\fB0\fR
success
.TP
\fB1\fR
a mistake in the command line, the data or the environment; one line on standard error says what was found,
what was expected and what to do
.TP
\fB2\fR
a bug in selfnorm
.TP
\fB3\fR
a requirement is not met (\fBaudit \-\-require\fR, \fBnormalize \-\-delta\fR), or training diverged and the
last good model was saved
.TP
\fB130\fR
interrupted; a training is continued by \fB\-\-resume\fR
.SH EXAMPLES
.nf
selfnorm data generate \-\-rows 1000 \-\-features 100 \-\-classes 10 \-\-out toy.svm
selfnorm train classifier toy.svm \-\-out run
selfnorm evaluate run toy.svm
selfnorm score run toy.svm \-\-top 3
selfnorm data generate \-\-toy pinwheel \-\-rows 10000 \-\-out points.csv
selfnorm train density points.csv \-\-out density
selfnorm sample density \-n 1000 \-o drawn.csv
.fi
)";

}  // namespace

std::string manual(const CommandTable& table, const std::string& version) {
  std::string page = fmt::format(
      ".TH SELFNORM 1 \"\" \"selfnorm {}\" \"User Commands\"\n.SH NAME\nselfnorm \\- probability models "
      "whose raw scores are already log\\-probabilities\n.SH SYNOPSIS\n.nf\n",
      version);
  for (const CommandRow& command : table) page += roff(command.usage()) + "\n";
  page += ".fi\n.SH COMMANDS\n";
  for (const CommandRow& command : table) {
    page += fmt::format(".SS {}\n{}\n", roff(command.usage()), roff(command.text));
    for (const OptionRow& option : command.options) page += entry(option);
  }
  return page + kEnd;
}

std::string reference(const CommandTable& table) {
  std::string page =
      "# Reference\n\nEvery command with its options, and every objective. This page is written by `selfnorm "
      "man --markdown`, from the tables that the program itself reads; a test compares them.\n\n";
  for (const CommandRow& command : table)
    page +=
        fmt::format("- [{0}](#selfnorm-{1}): {2}\n", command.path, anchor(command.path), cell(command.text));
  for (const CommandRow& command : table) {
    page +=
        fmt::format("\n## selfnorm {}\n\n{}\n\n    {}\n", command.path, cell(command.text), command.usage());
    if (command.options.empty()) continue;
    page += "\n| option | default | meaning |\n|---|---|---|\n";
    for (const OptionRow& option : command.options) page += reference_row(option);
  }
  return page + "\n" + objective_table();
}

}  // namespace selfnorm::cli

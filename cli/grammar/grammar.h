// The option groups that commands share, and the grammar made of them. Included only by the parser's own
// files.
#pragma once

#include <memory>
#include <vector>

#include "grammar/arguments.h"
#include "grammar/declaration.h"

namespace selfnorm::cli {

// What every command is told, after what is its own, and the groups that it needs of the rest.
enum CommonGroup : unsigned { kExpansion = 1, kThreads = 2, kCode = 4, kDevice = 8, kTrainingDevice = 16 };
void declare_common(Declaration& command, CommonArguments& common, unsigned groups);
void declare_reader(Declaration& command, ReaderArguments& reader);
// Where MODEL may be a CRF: with the formats of sentences.
void declare_any_reader(Declaration& command, ReaderArguments& reader);
// Whether a table has a row of names.
// Of `predict`: --format has raw sentences too, and "json", which was the format of the output once.
void declare_predict_reader(Declaration& command, ReaderArguments& reader);
OptionTable header_option_table(ReaderArguments& reader);
OptionTable head_option_table(HeadNames& head);
OptionTable point_option_table(PointArguments& points);

// What every training command is told of its run; `data` is the positional, `hold_out` the text of
// --hold-out.
void declare_run(Declaration& command, RunArguments& run, const std::string& data,
                 const std::string& hold_out);

// All commands bound to one Arguments; it does not move, because CLI11 keeps references into it.
class Grammar {
 public:
  Grammar();
  Grammar(const Grammar&) = delete;
  Grammar& operator=(const Grammar&) = delete;

  // `words` start with the words of `path`. Throws CLI::ParseError.
  void parse(const std::string& path, const std::vector<std::string>& words);
  // Throws Error for values of the command out of their range and options that do nothing.
  void check(const std::string& path) { declaration(path).check(); }
  CommandTable table() const;
  CLI::App& app_of(const std::string& path) { return declaration(path).app(); }
  Arguments& arguments() { return arguments_; }

 private:
  Declaration& command(const std::string& path, const std::string& text);
  Declaration& declaration(const std::string& path);
  void declare_training_commands();
  void declare_density_commands();
  void declare_regressor_commands();
  void declare_crf_commands();
  void declare_registered_families();
  void declare_model_commands();
  void declare_normalizing_commands();
  void declare_other_commands();
  // Of `evaluate` and `score`, where MODEL may be of any family.
  void declare_any_data(Declaration& command);

  Arguments arguments_;
  CLI::App root_{"Probability models whose raw scores are already log-probabilities.", "selfnorm"};
  std::vector<std::unique_ptr<Declaration>> commands_;
};

}  // namespace selfnorm::cli

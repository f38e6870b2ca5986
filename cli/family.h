// The families of models as the program sees them: what each does for every command that takes a model. A
// family is one line in family.cc, or is registered by a program of one's own (tests/toy/die.cc); no command
// asks which family it has.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/option_table.h"
#include "grammar/arguments.h"
#include "run/training.h"

namespace selfnorm {
struct FileIdentity;
}

namespace selfnorm::cli {

struct CommandFamily {
  using Command = std::function<int(const Arguments&)>;

  std::string name;                                    // after `train`
  std::string text = {};                               // what `train NAME` does
  std::string data = "DATA";                           // what it is given
  std::string noun;                                    // "a CRF": its models, in messages
  std::string others = "are not";                      // what models of other families are beside one of it
  std::function<bool(const FileIdentity&)> owns = {};  // empty: files whose family is `name`
  // The options of `train NAME` that are its own; those of the program's families are in its grammar.
  std::function<OptionTable(Arguments&)> options = {};
  std::function<std::unique_ptr<Training>(const Arguments&)> training = {};
  std::function<nlohmann::ordered_json(const Arguments&)> info =
      {};                                        // empty: where the file is, its size and family
  std::map<std::string, Command> commands = {};  // by name, those it has
  std::vector<std::string> shared = {};  // of them, by name, those that several processes run together
  std::map<std::string, std::string> refused = {};  // by name, others: why, and what to do instead
  bool reads_sentences = false;                     // --format may be one of sentences
};

// Before those that are there, which it may take files from.
void register_family(CommandFamily family);
const std::vector<CommandFamily>& families();
// Throws Bug for a name that is none of them.
const CommandFamily& family_named(const std::string& name);

// Runs the command of `arguments` for the family of the models, which have to be of one.
int run_for_family(const Arguments& arguments, const std::vector<std::string>& models);
// What `info` says of a model.
nlohmann::ordered_json model_info(const Arguments& arguments);

}  // namespace selfnorm::cli

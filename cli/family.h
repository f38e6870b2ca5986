// The families of models as the program sees them: what each does for every command that takes a model. A
// family is one line in family.cc; no command asks which family it has.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "grammar/arguments.h"

namespace selfnorm {
struct FileIdentity;
}

namespace selfnorm::cli {

struct CommandFamily {
  using Command = std::function<int(const Arguments&)>;

  std::string name;    // after `train`
  std::string noun;    // "a chain": its models, in messages
  std::string others;  // "are not": what models of other families are beside one of it
  std::function<bool(const FileIdentity&)> owns;
  Command train;
  std::function<nlohmann::ordered_json(const Arguments&)> info;
  std::map<std::string, Command> commands;     // by name, those it has
  std::map<std::string, std::string> refused;  // by name, others: why, and what to do instead
  // Options of shared commands that are its alone: thrown out when another family meets them.
  std::function<void(const Arguments&, const std::string& model)> refuse_own;
};

// Throws Bug for a name that is none of them.
const CommandFamily& family_named(const std::string& name);

// Runs the command of `arguments` for the family of the models, which have to be of one.
int run_for_family(const Arguments& arguments, const std::vector<std::string>& models);
// What `info` says of a model.
nlohmann::ordered_json model_info(const Arguments& arguments);

}  // namespace selfnorm::cli

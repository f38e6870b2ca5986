// One training of any family, as the one command `train` (train.cc) drives it. The calls come in the order of
// the members.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "audit/simple_model.h"
#include "document/document.h"
#include "engine/engine.h"
#include "run/run_directory.h"

namespace selfnorm::cli {

struct Arguments;

// What config.json holds of the data: under "data", "valid", ...; null where there are none.
using DataRecords = std::vector<std::pair<std::string, nlohmann::ordered_json>>;

// What was read.
struct ReadData {
  std::vector<std::string> notes = {};     // said when everything is known to be good
  std::vector<std::string> warnings = {};  // after them
  DataRecords records = {};
  RunNeeds needs = {};
};

// What data held out, or else the training data, say of the model.
struct Verdict {
  std::string data = {};              // "validation", "test" or "training"
  nlohmann::ordered_json audit = {};  // as the model stores it
  std::string table = {};             // of it, for people
  double nll = 0;
  std::optional<SimpleModel> simple = {};  // what it has to be better than
  std::vector<std::string> notes = {}, warnings = {};
};

class Training {
 public:
  virtual ~Training() = default;

  // Chooses what was not said, by the data, in the arguments it was made of; what there is to say about it.
  virtual std::vector<std::string> choose(Arguments&) { return {}; }

  // Reads the data; `folder` exists and has room. Throws Error for what cannot work, before anything is made.
  virtual ReadData read(const std::string& folder) = 0;
  virtual RunResult train(const CheckpointOptions& checkpoint, TrainObserver& observer) = 0;
  // Also writes the audit into the model, in which nothing may depend on the clock or the machine: a resumed
  // run gives the same bytes.
  virtual Verdict judge() = 0;
  virtual void save(const std::string& path) const = 0;
  // Whether several processes have written parts of the model, of which save() writes the index.
  virtual bool is_split() const { return false; }
  // Cards, figures and tables of the report; `model` is the file.
  virtual void show(const std::string& model, ReportDocument& document) = 0;
};

}  // namespace selfnorm::cli

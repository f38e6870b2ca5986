#include "classifier/normalize_states.h"

#include <fmt/format.h>

#include <filesystem>

#include "run/rows_part.h"
#include "run/run_record.h"

namespace selfnorm::cli {

StatesPlace states_of_model(const NormalizeArguments& given) {
  if (!given.states.empty()) return {given.states, given.states_name, rows_part(given.head, given.states)};
  const bool is_run = std::filesystem::is_directory(given.head);
  const std::string train = is_run ? recorded_data(given.head, "data") : "";
  if (train.empty() || !std::filesystem::exists(train)) throw no_states(given);
  return {train, given.states_name, RowsPart::kTrained};
}

Error no_states(const NormalizeArguments& given) {
  return Error(fmt::format(
      "{}: normalising needs inputs of the model; give --states FILE (hidden states, or data like those it "
      "was trained on)",
      given.head));
}

}  // namespace selfnorm::cli

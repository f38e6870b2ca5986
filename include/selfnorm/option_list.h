// The options there are: the tables that the command line, the manual and the keywords of other languages are
// made from.
#pragma once

#include <string>
#include <vector>

#include "selfnorm/options.h"

namespace selfnorm {

struct OptionDescription {
  std::string name;     // "learning-rate"
  std::string initial;  // its value when nothing is said, as written
  std::string type;     // bool, int, float, str; auto: a float or "auto"; lists: ints, floats, strs
  std::string help;
  std::vector<std::string> choices;  // empty: any
  bool chooses =
      false;  // given, even with its initial value, it has a part in what is otherwise chosen by data
};
// Of "classifier", "lm", "density", "regressor" and "crf", whose models train; of "audit" and "sample".
// Throws Error for others.
std::vector<OptionDescription> option_list(const std::string& table);

// From now on errors of the whole process call an option learning_rate, not learning-rate.
void name_options_as_keywords();

}  // namespace selfnorm

#include "selfnorm/train/subtracted.h"

namespace selfnorm {

void Subtracted::save(const std::string& name, Checkpoint& checkpoint) const {
  checkpoint.set(name + ".constant", constant);
  checkpoint.set(name + ".intercept", function.intercept);
  checkpoint.set(name + ".slope", function.slope);
  checkpoint.set(name + ".hidden_weight", function.hidden_weight);
  checkpoint.set(name + ".hidden_bias", function.hidden_bias);
  checkpoint.set(name + ".output", function.output);
}

void Subtracted::restore(const std::string& name, const Checkpoint& checkpoint) {
  constant = checkpoint.number(name + ".constant");
  function.intercept = checkpoint.number(name + ".intercept");
  checkpoint.get(name + ".slope", function.slope);
  checkpoint.get(name + ".hidden_weight", function.hidden_weight);
  checkpoint.get(name + ".hidden_bias", function.hidden_bias);
  checkpoint.get(name + ".output", function.output);
}

}  // namespace selfnorm

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

void Subtracted::restore(const std::string& name, const Checkpoint& checkpoint, const Subtracted& like) {
  const AmortisedNormalizer shape = like.function;
  constant = checkpoint.number(name + ".constant");
  function.intercept = checkpoint.number(name + ".intercept");
  checkpoint.get(name + ".slope", function.slope, shape.slope.size());
  checkpoint.get(name + ".hidden_weight", function.hidden_weight, shape.hidden_weight.size());
  checkpoint.get(name + ".hidden_bias", function.hidden_bias, shape.hidden_bias.size());
  checkpoint.get(name + ".output", function.output, shape.output.size());
}

}  // namespace selfnorm

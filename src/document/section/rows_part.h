// What part the rows that are shown had in the model. A certificate speaks of inputs that had none.
#pragma once

namespace selfnorm {

enum class RowsPart {
  kNone,
  kChoseStep,  // the step of training that did best on them was kept, and constants were fitted to them
  kTrained
};

}  // namespace selfnorm

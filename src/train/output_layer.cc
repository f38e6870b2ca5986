#include "selfnorm/train/output_layer.h"

#include "selfnorm/math/kernels.h"

namespace selfnorm {

TrainedRows::TrainedRows(std::vector<float>& values, size_t columns, double decay)
    : values_(values),
      columns_(columns),
      optimiser_(values.size() / columns, columns, kInitialSquare, decay) {}

void TrainedRows::save(const std::string& name, Checkpoint& c) const {
  c.set(name, values_);
  c.set(name + ".square", optimiser_.state().square);
  c.set(name + ".decayed", optimiser_.state().decayed);
  c.set(name + ".log_decay", optimiser_.state().log_decay);
}

void TrainedRows::restore(const std::string& name, const Checkpoint& c) {
  RowAdagradState state = optimiser_.state();
  c.get(name, values_);
  c.get(name + ".square", state.square);
  c.get(name + ".decayed", state.decayed);
  state.log_decay = c.number(name + ".log_decay");
  optimiser_.restore(std::move(state));
}

OutputLayer::OutputLayer(ModelFile& model, double decay)
    : weight_(model.weight, model.features, decay), bias_(model.bias, 1, 0), carrier_(model.log_carrier) {}

double OutputLayer::score(size_t k, const float* state) const {
  return dot(weight(k), state, weight_.columns()) + static_cast<double>(offset(k));
}

void OutputLayer::begin_step(double rate) {
  weight_.begin_step(rate);
  bias_.begin_step(rate);
}

void OutputLayer::update(size_t k, const float* gradient, float d_bias) {
  weight_.update(k, gradient);
  bias_.update(k, &d_bias);
}

void OutputLayer::save(Checkpoint& c) const {
  weight_.save("weight", c);
  bias_.save("bias", c);
}

void OutputLayer::restore(const Checkpoint& c) {
  weight_.restore("weight", c);
  bias_.restore("bias", c);
}

}  // namespace selfnorm

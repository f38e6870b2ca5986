#include "selfnorm/model/network/feature_network.h"

#include "feature_kinds.h"
#include "selfnorm/base/range.h"

namespace selfnorm {

std::unique_ptr<FeatureNetwork> make_features(const EnergyRecord& record, EmbeddedCode code) {
  require_one_of("kind of features", record.kind, {"dense", "linear", "torchscript"});
  if (record.kind == "dense") return make_dense_features(record);
  if (record.kind == "linear") return make_linear_features(record);
  return make_module_features(record, code);
}

}  // namespace selfnorm

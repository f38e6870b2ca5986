#include <gtest/gtest.h>

#include "gradient_check.h"
#include "model/multiclass.h"
#include "random_data.h"

namespace selfnorm {
namespace {

TEST(Joint, BackwardIsTheGradientOfTheScore) {
  for (const bool sparse : {false, true}) {
    const Dataset data = random_dataset({.rows = 3, .features = 5, .classes = 2, .sparse = sparse}, 1);
    const Joint<double> model(data.features, 5);
    const auto theta = random_vector<double>(5, 2);
    for (uint64_t row = 0; row < 3; ++row) {
      std::vector<double> gradient(5);
      model.backward(row, 2.5, gradient.data());
      expect_gradient([&](const std::vector<double>& t) { return 2.5 * model.score(t, row); }, theta,
                      gradient);
    }
  }
}

}  // namespace
}  // namespace selfnorm

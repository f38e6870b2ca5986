#include <gtest/gtest.h>

#include <limits>

#include "model/energy/mlp.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TEST(MlpOptions, OutOfRange) {
  const auto with = [](const auto& change) {
    MlpOptions options;
    change(options);
    return options;
  };
  EXPECT_NO_THROW(MlpOptions().validate());
  for (const MlpOptions& bad :
       {with([](MlpOptions& o) { o.widths.clear(); }), with([](MlpOptions& o) { o.widths.assign(17, 8); }),
        with([](MlpOptions& o) {
          o.widths = {8, 0};
        }),
        with([](MlpOptions& o) { o.widths = {4097}; }), with([](MlpOptions& o) { o.activation = "Silu"; }),
        with([](MlpOptions& o) { o.fourier = 4097; }), with([](MlpOptions& o) { o.fourier_scale = 0; }),
        with([](MlpOptions& o) { o.fourier_scale = std::numeric_limits<double>::infinity(); })}) {
    EXPECT_THROW(bad.validate(), Error);
    EXPECT_THROW(make_mlp(2, bad, 0), Error);
  }
  EXPECT_THROW(make_mlp(0, {}, 0), Error);
}

}  // namespace
}  // namespace selfnorm

#include <gtest/gtest.h>

#include <limits>

#include "model/energy/mlp.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

MlpOptions rich() {
  MlpOptions options;
  options.widths = {6, 6, 3};
  options.activation = "gelu";
  options.residual = options.spectral_norm = true;
  options.fourier = 4;
  options.fourier_scale = 1.5;
  return options;
}

TEST(MlpRecord, RoundTripBitForBit) {
  for (const bool is_spectral : {false, true}) {
    MlpOptions options = rich();
    options.spectral_norm = is_spectral;
    const auto energy = make_mlp(2, options, 9);
    const auto again = make_mlp(energy->record());
    EXPECT_TRUE(std::equal(energy->parameters().begin(), energy->parameters().end(),
                           again->parameters().begin(), again->parameters().end()));
    const std::vector<float> x = random_vector<float>(2 * 50, 5);
    std::vector<double> s(50), t(50);
    energy->score({x.data(), 50, 2}, s);
    again->score({x.data(), 50, 2}, t);
    EXPECT_EQ(s, t);
    const EnergyRecord first = energy->record(), second = again->record();
    EXPECT_EQ(first.kind, "mlp");
    EXPECT_EQ(first.settings, second.settings);
    ASSERT_EQ(first.tensors.size(), second.tensors.size());
    for (size_t i = 0; i < first.tensors.size(); ++i) {
      EXPECT_EQ(first.tensors[i].name, second.tensors[i].name);
      EXPECT_EQ(first.tensors[i].shape, second.tensors[i].shape);
      EXPECT_EQ(first.tensors[i].values, second.tensors[i].values);
    }
  }
}

TEST(MlpRecord, DamageIsAnError) {
  const EnergyRecord good = make_mlp(2, rich(), 9)->record();
  EXPECT_NO_THROW(make_mlp(good));
  for (size_t i = 0; i < good.tensors.size(); ++i) {
    EnergyRecord bad = good;
    bad.tensors.erase(bad.tensors.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_THROW(make_mlp(bad), Error) << good.tensors[i].name;
    bad = good;
    bad.tensors[i].values.pop_back();
    EXPECT_THROW(make_mlp(bad), Error) << good.tensors[i].name;
    bad = good;
    bad.tensors[i].shape.push_back(1);
    EXPECT_THROW(make_mlp(bad), Error) << good.tensors[i].name;
    bad = good;
    bad.tensors[i].values[0] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THROW(make_mlp(bad), Error) << good.tensors[i].name;
  }
  const std::string settings = good.settings;
  const auto replaced = [&](const std::string& from, const std::string& to) {
    EnergyRecord bad = good;
    const size_t at = settings.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    bad.settings.replace(at, from.size(), to);
    return bad;
  };
  for (const EnergyRecord& bad :
       {replaced("gelu", "none"), replaced("[6,6,3]", "[6,6,0]"), replaced("[6,6,3]", "[6,6,1e12]"),
        replaced("[6,6,3]", "[]"), replaced("[6,6,3]", "7"), replaced("\"dimension\":2", "\"dimension\":0"),
        replaced("\"dimension\":2", "\"dimension\":4000000000"),
        replaced("\"dimension\":2", "\"dimension\":-1"), replaced("\"dimension\":2", "\"dimension\":2.5"),
        replaced("\"fourier\":4", "\"fourier\":\"4\""), replaced("true", "3"), replaced("{", "")}) {
    EXPECT_THROW(make_mlp(bad), Error) << bad.settings;
  }
  EnergyRecord other = good;
  other.kind = "ising";
  EXPECT_THROW(make_mlp(other), Error);
}

}  // namespace
}  // namespace selfnorm

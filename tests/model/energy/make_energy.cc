#include "model/energy/make_energy.h"

#include <gtest/gtest.h>

#include "model/energy/energy_check.h"
#include "model/energy/exponential_family.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Every name makes an energy, and its record makes the same one again.
TEST(MakeEnergy, EveryNameMakesAnEnergyThatCanBeStored) {
  for (const std::string& name : energy_names()) {
    SCOPED_TRACE(name);
    EnergyPlan plan;
    plan.word = name == "family" ? "family:x,x2" : name;
    plan.dimension = 2;
    if (name == "truncated-gaussian") plan.lower = {-1, -1}, plan.upper = {1, 1};
    check_energy_word(plan.word);
    const auto energy = make_energy(plan);
    EXPECT_EQ(energy->dimension(), 2u);
    EXPECT_EQ(dynamic_cast<ExponentialFamily*>(energy.get()) != nullptr, is_exponential_family(plan.word));
    const std::vector<float> x = {0, 1, 1, 0};
    const EnergyRecord record = energy->record();
    EXPECT_EQ(record.kind, name);
    EXPECT_EQ(scores(*make_energy(record), x), scores(*energy, x));
  }
}

TEST(MakeEnergy, ArgumentsAreSizes) {
  EnergyPlan plan;
  plan.dimension = 3;
  plan.word = "rbm:5";
  EXPECT_EQ(make_energy(plan)->parameters().size(), 3u + 5 + 15);
  plan.word = "mlp:7,5";
  EXPECT_EQ(make_energy(plan)->parameters().size(), 3u * 7 + 7 + 7 * 5 + 5 + 5);
}

TEST(MakeEnergy, BadWords) {
  for (const char* word :
       {"", "mpl", "mlp:", "mlp:0", "mlp:12,", "mlp:12;13", "mlp:5000", "mlp:-3", "rbm:3,4", "rbm:x",
        "gaussian:2", "family", "family:", "family:x,y", "ising:", "zero"}) {
    EXPECT_THROW(check_energy_word(word), Error) << word;
  }
  check_energy_word("some/file.pt");
  EXPECT_FALSE(is_exponential_family("some/file.pt"));
  EnergyRecord record;
  record.kind = "oracle";
  EXPECT_THROW(make_energy(record), Error);
}

}  // namespace
}  // namespace selfnorm

#include <gtest/gtest.h>

#include <cmath>

#include "model/network/dense_network.h"
#include "selfnorm/error.h"

namespace selfnorm::test {
namespace {

DenseNetwork network() { return DenseNetwork({3, {4, 2}, {5, 2}, Activation::gelu, true, 0.5}, 7); }

TEST(DenseRecord, ComesBackBitForBit) {
  const DenseNetwork before = network();
  const EnergyRecord record = before.record();
  ASSERT_EQ(record.tensors.size(), 6u);
  EXPECT_EQ(record.tensors[0].shape, (std::vector<uint64_t>{5, 3}));
  EXPECT_EQ(record.tensors[4].shape, (std::vector<uint64_t>{4, 5}));
  const DenseNetwork after(record, "net");
  EXPECT_EQ(after.record().settings, record.settings);
  const auto a = before.parameters(), b = after.parameters();
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}

TEST(DenseRecord, RefusesWhatIsDamaged) {
  const auto refused = [](const auto& spoil, const char* message) {
    EnergyRecord record = network().record();
    spoil(record);
    try {
      DenseNetwork(record, "the mixture head");
      FAIL() << message;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  };
  const auto with = [](const char* from, const char* to) {
    return [=](EnergyRecord& r) {
      const size_t at = r.settings.find(from);
      ASSERT_NE(at, std::string::npos);
      r.settings.replace(at, std::string(from).size(), to);
    };
  };
  refused([](EnergyRecord& r) { r.kind = "mlp"; }, "the mixture head: its kind is 'mlp'");
  refused([](EnergyRecord& r) { r.settings = "[]"; }, "no JSON object");
  refused([](EnergyRecord& r) { r.tensors[1].values[0] = NAN; }, "not finite");
  refused([](EnergyRecord& r) { r.tensors[1].name = "x"; }, "'layer0.bias' is missing");
  refused([](EnergyRecord& r) { std::swap(r.tensors[0].shape[0], r.tensors[0].shape[1]); }, "another shape");
  refused([](EnergyRecord& r) { r.tensors.pop_back(); }, "parameters");
  refused(with("\"inputs\":3", "\"inputs\":1048576"), "parameters");
  refused(with("\"inputs\":3", "\"inputs\":-1"), "'inputs' is -1");
  refused(with("[5,2]", "[5,0]"), "'widths' is 0");
  refused(with("[5,2]", "[]"), "0 layers");
  refused(with("gelu", "gela"), "gela");
  refused(with("0.5", "1e99"), "output_scale");
}

}  // namespace
}  // namespace selfnorm::test

// What is written has a checksum, and every reader of models looks at it.
#include "model/safetensors_writer.h"

#include <gtest/gtest.h>

#include "damage.h"
#include "model/head/head_file.h"
#include "model/regressor/regressor.h"
#include "parsed_model.h"
#include "runtime/random_network.h"
#include "small_crfs.h"
#include "small_regressors.h"

namespace selfnorm::test {
namespace {

// Loads the bytes as a file.
template <class Load>
auto refused_by(const ScratchDirectory& scratch, const Load& load) {
  return [path = scratch.file("damaged"), &load](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    try {
      load(path);
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find(path), 0u) << error.what();
      return true;
    }
    return false;
  };
}

TEST(SafetensorsWriter, DamagedModelsOfClassesAreRefused) {
  const ScratchDirectory scratch;
  std::mt19937 random(1);
  std::vector<ModelFile> models;
  for (const WeightKind kind : {WeightKind::Float32, WeightKind::Bfloat16, WeightKind::Int8}) {
    models.push_back(random_model(random, 5, 4, kind));
    models.back().normalizer = random_normalizer(random, 4, 3);
  }
  models.push_back(random_bag_model(random, Family::Multiclass, 4, 3));
  models.push_back(random_bag_model(random, Family::Hierarchical, 4, 0));
  models.push_back(random_context_model(random, Family::Multiclass, 6, 3));
  ModelFile joint;
  joint.family = Family::Joint;
  joint.features = 2;
  joint.weight = {1, -2};
  models.push_back(joint);
  const auto load = [](const std::string& path) { load_model(path); };
  for (const ModelFile& model : models) expect_damage_is_found(saved_bytes(model), refused_by(scratch, load));
}

TEST(SafetensorsWriter, DamagedCrfsAndRegressorsAreRefused) {
  const ScratchDirectory scratch;
  save_crf(random_crf({}), scratch.file("chain"));
  const auto crf = [](const std::string& path) { load_crf(path); };
  expect_damage_is_found(contents(scratch.file("chain")), refused_by(scratch, crf));
  save_regressor(random_regressor({}), scratch.file("regressor"));
  const auto regressor = [](const std::string& path) { load_regressor(path); };
  expect_damage_is_found(contents(scratch.file("regressor")), refused_by(scratch, regressor));
}

TEST(SafetensorsWriter, DamagedHeadsAreRefusedAndThoseOfOthersAreNot) {
  const ScratchDirectory scratch;
  const std::vector<float> weight = {1, 2, 3, 4, 5, 6}, bias = {7, 8};
  write_safetensors(scratch.file("head"),
                    {make_tensor("lm_head.weight", runtime::Dtype::F32, {2, 3}, std::span(weight)),
                     make_tensor("lm_head.bias", runtime::Dtype::F32, {2}, std::span(bias))},
                    {{"format", "pt"}});
  Head head = load_head(scratch.file("head"), {});
  head.model.weight[0] = 9;
  save_head(head, scratch.file("saved"));  // of which the metadata had another checksum
  const auto load = [](const std::string& path) { load_head(path, {}); };
  expect_damage_is_found(contents(scratch.file("saved")), refused_by(scratch, load));

  // As other programs write them, with one bit more or less.
  std::string others(
      R"({"__metadata__":{"format":"pt"},"weight":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}})");
  others =
      std::string({static_cast<char>(others.size()), 0, 0, 0, 0, 0, 0, 0}) + others + std::string(8, '\0');
  EXPECT_FALSE(refused_by(scratch, load)(others));
  EXPECT_FALSE(refused_by(scratch, load)(flipped(others, 8 * others.size() - 40)));
}

}  // namespace
}  // namespace selfnorm::test

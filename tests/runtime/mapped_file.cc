// Files mapped, and models in shards put together.
#include "selfnorm/runtime/mapped_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <numeric>

#include "scratch.h"
#include "selfnorm.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/safetensors.h"

namespace selfnorm::runtime {
namespace {

std::string file_of(std::string json, const std::string& data, size_t start) {
  json.resize((8 + json.size() + kShardPage - 1) / kShardPage * kShardPage + start - 8, ' ');
  const uint64_t length = json.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + json + data;
}

std::string tensor(const std::string& name, size_t floats, size_t begin) {
  return "\"" + name + R"(":{"dtype":"F32","shape":[)" + std::to_string(floats) + R"(],"data_offsets":[)" +
         std::to_string(begin) + "," + std::to_string(begin + 4 * floats) + "]}";
}

std::string bytes_of(const std::vector<float>& values, size_t begin, size_t end) {
  std::string out(4 * (end - begin), '\0');
  std::memcpy(out.data(), values.data() + begin, out.size());
  return out;
}

// 10,000 weights in parts of which the second can be mapped where it is and the third cannot; 3 biases.
class Shards : public testing::Test {
 protected:
  Shards() : weight(10'000), bias{1, 2, 3} {
    std::iota(weight.begin(), weight.end(), 0.5f);
    scratch.file("a", file_of("{" + tensor("weight.1", 3000, 0) + "," + tensor("bias", 3, 12'000) + "}",
                              bytes_of(weight, 0, 3000) + bytes_of(bias, 0, 3), 0));
    scratch.file("b", file_of("{" + tensor("weight.2", 4000, 0) + "}", bytes_of(weight, 3000, 7000),
                              12'000 % kShardPage));
    scratch.file("c", file_of("{" + tensor("weight.3", 3000, 0) + "}", bytes_of(weight, 7000, 10'000), 64));
  }
  std::string index(const std::string& third = "c", uint64_t total = 40'012) const {
    std::string header = "{" + tensor("weight", 10'000, 0) + "," + tensor("bias", 3, 40'000) + "}";
    header.resize(kShardPage - 8, ' ');
    std::string quoted;
    for (const char c : header) quoted += c == '"' ? "\\\"" : std::string(1, c);
    return scratch.file("m.safetensors.index.json",
                        R"({"metadata": {"total_size": )" + std::to_string(total) +
                            R"(, "selfnorm.header": ")" + quoted +
                            R"("}, "weight_map": {"bias": "a", "weight.1": "a", "weight.2": "b", )" +
                            R"("weight.3": ")" + third + "\"}}");
  }
  static std::string error_of(const std::string& path) {
    try {
      const MappedFile file(path);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  Scratch scratch;
  std::vector<float> weight, bias;
};

TEST_F(Shards, AreOneFile) {
  const std::string path = index();
  MappedFile file(path);
  const Safetensors whole = parse_safetensors(file.bytes(), path);
  ASSERT_EQ(whole.tensors.size(), 2u);
  const auto values = [&](const char* name) {
    const Tensor* found = whole.find(name);
    std::vector<float> out(found->elements());
    std::memcpy(out.data(), found->data.data(), found->data.size());
    return out;
  };
  EXPECT_EQ(values("weight"), weight);
  EXPECT_EQ(values("bias"), bias);
  file.release(file.bytes());  // what was copied stays
  EXPECT_EQ(values("weight"), weight);
  const MappedFile moved(std::move(file));
  EXPECT_EQ(values("bias"), bias);
}

TEST_F(Shards, ThatDoNotFitAreNamed) {
  EXPECT_NE(error_of(index("d")).find("/d: cannot open"), std::string::npos);
  EXPECT_NE(error_of(index("d")).find("m.safetensors.index.json names beside it: copy them there"),
            std::string::npos);
  EXPECT_NE(error_of(index("b")).find("tensor \"weight.3\": found none of F32"), std::string::npos);
  EXPECT_NE(error_of(index("../c")).find("expected the name of a file beside the index"), std::string::npos);
  EXPECT_NE(error_of(index("c", 40'016)).find("bytes of data"), std::string::npos);
  scratch.file("c", file_of("{" + tensor("weight.3", 2999, 0) + "}", bytes_of(weight, 7000, 9999), 64));
  EXPECT_NE(error_of(index()).find("tensor \"weight\": found 4 bytes less"), std::string::npos)
      << error_of(index());
  scratch.file("c", file_of("{" + tensor("weight.3", 3001, 0) + "}", bytes_of(weight, 6999, 10'000), 64));
  EXPECT_NE(error_of(index()).find("more bytes than the whole"), std::string::npos);
}

// Shards are safetensors files, whatever their names: an index is not put together for another.
TEST_F(Shards, AnIndexIsNoShard) {
  const std::string self = index("m.safetensors.index.json");
  EXPECT_NE(error_of(self).find("m.safetensors.index.json: "), std::string::npos) << error_of(self);
  selfnorm_model* model = nullptr;
  EXPECT_EQ(selfnorm_open(self.c_str(), &model), SELFNORM_ERROR_FORMAT);
  index();
  std::filesystem::rename(self, scratch.path("other.safetensors.index.json"));
  const std::string outer = index("other.safetensors.index.json");
  EXPECT_NE(error_of(outer).find("other.safetensors.index.json: "), std::string::npos) << error_of(outer);
  EXPECT_EQ(selfnorm_open(outer.c_str(), &model), SELFNORM_ERROR_FORMAT);
}

TEST_F(Shards, IndexesOfOthersAreRefused) {
  const std::string path = scratch.file("m.safetensors.index.json",
                                        R"({"metadata": {"total_size": 8}, "weight_map": {"a": "b"}})");
  EXPECT_NE(error_of(path).find("expected the index of a model that selfnorm wrote"), std::string::npos);
  selfnorm_model* model = nullptr;
  EXPECT_EQ(selfnorm_open(path.c_str(), &model), SELFNORM_ERROR_FORMAT);
  scratch.file("m.safetensors.index.json", "{\"weight_map\": [");
  EXPECT_NE(error_of(path).find("expected '{'"), std::string::npos) << error_of(path);
}

}  // namespace
}  // namespace selfnorm::runtime

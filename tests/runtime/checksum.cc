#include "selfnorm/runtime/checksum.h"

#include <gtest/gtest.h>

#include "damage.h"
#include "runtime/random_model.h"
#include "selfnorm/runtime/safetensors.h"
#include "source_dir.h"

namespace selfnorm::test {
namespace {

using runtime::ChecksumState;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
ChecksumState state_of(const std::string& file) { return runtime::verify_checksum(bytes_of(file)); }

std::string small_file() {
  std::mt19937 random(3);
  return saved_bytes(random_model(random, 3, 2, WeightKind::Float32));
}

// XXH3-64 of "" and of "a" as xxhsum -H3 prints them.
TEST(Checksum, IsXxh3) {
  const auto digits = [](const std::vector<std::string>& texts) {
    std::vector<std::span<const std::byte>> parts;
    for (const std::string& text : texts) parts.push_back(bytes_of(text));
    const runtime::ChecksumDigits out = runtime::checksum_of(parts);
    return std::string(out.begin(), out.end());
  };
  EXPECT_EQ(digits({}), "2d06800538d394c2");
  EXPECT_EQ(digits({"a"}), "e6c632b61e964e1f");
  const std::string whole(5000, 'x');
  EXPECT_EQ(digits({whole}), digits({whole.substr(0, 7), "", whole.substr(7)}));
}

TEST(Checksum, EveryBitOfAFile) {
  const std::string file = small_file();
  EXPECT_EQ(state_of(file), ChecksumState::Matches);
  for (size_t bit = 0; bit < 8 * file.size(); ++bit)
    EXPECT_EQ(state_of(flipped(file, bit)), ChecksumState::Differs) << bit;
  EXPECT_EQ(state_of(file + " "), ChecksumState::Differs);
  EXPECT_EQ(state_of(file.substr(0, file.size() - 1)), ChecksumState::Differs);
}

TEST(Checksum, FilesOfOthersHaveNone) {
  for (const std::string text : {"", "{}", "12345678{\"__metadata__\":{\"format\":\"pt\"}}"})
    EXPECT_EQ(state_of(text + std::string(100, ' ')), ChecksumState::Absent) << text;
  EXPECT_EQ(state_of(""), ChecksumState::Absent);
  EXPECT_EQ(state_of(contents(SELFNORM_SOURCE_DIR "/fuzz/corpus/fuzz_model/float32.safetensors")),
            ChecksumState::Absent);
}

TEST(Checksum, ReadersOfTheFirstReleaseSeeOneMoreKey) {
  const std::string file = small_file();
  const auto parsed = runtime::parse_safetensors(bytes_of(file), "m");
  const std::string stored = parsed.metadata.find(runtime::kChecksumKey)->second;
  EXPECT_EQ(stored, file.substr(runtime::kChecksumOffset - 8, 24));
  EXPECT_EQ(stored.substr(0, 8), runtime::kBlankChecksum.substr(0, 8));
}

TEST(Runtime, VerifiesOnRequest) {
  const ScratchDirectory scratch;
  const std::string file = small_file(), path = scratch.file("m");
  const auto verified = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    selfnorm_model* model = nullptr;
    EXPECT_EQ(selfnorm_open(path.c_str(), &model), SELFNORM_OK);
    const selfnorm_status out = selfnorm_verify(model);
    selfnorm_close(model);
    return out;
  };
  EXPECT_EQ(verified(file), SELFNORM_OK);
  EXPECT_EQ(verified(flipped(file, 8 * file.size() - 100)), SELFNORM_ERROR_CHECKSUM);
  EXPECT_EQ(std::string(selfnorm_error_message()).find(path + ": the checksum does not match"), 0u);
  EXPECT_EQ(verified(contents(SELFNORM_SOURCE_DIR "/fuzz/corpus/fuzz_model/float32.safetensors")),
            SELFNORM_ERROR_NO_CHECKSUM);
  EXPECT_EQ(selfnorm_verify(OpenModel(file)), SELFNORM_OK);
  EXPECT_EQ(selfnorm_verify(nullptr), SELFNORM_ERROR_ARGUMENT);
}

}  // namespace
}  // namespace selfnorm::test

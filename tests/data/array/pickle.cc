#include <gtest/gtest.h>

#include "data/array/array_file.h"
#include "data/array_bytes.h"

namespace selfnorm {
namespace {

TEST(Pickle, FilesOfTorchSaveAreNamedWithTheWayOut) {
  const Scratch scratch;
  const std::string new_format = zip({{"head/data.pkl", "x"}, {"head/data/0", "0123"}});
  const std::string old_format = "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.";
  for (const std::string& bytes : {new_format, old_format}) {
    const std::string path = scratch.file("head.pt", bytes);
    EXPECT_TRUE(is_pickle_file(path));
    for (const auto& read : std::vector<std::function<void()>>{[&] { const ArrayFile file(path); },
                                                               [&] { read_dataset(path); }}) {
      try {
        read();
        FAIL();
      } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_EQ(text.rfind(path + ": found a file of torch.save", 0), 0u) << text;
        EXPECT_NE(text.find("save_file("), std::string::npos);
      }
    }
  }
}

TEST(Pickle, OthersAreNone) {
  const Scratch scratch;
  EXPECT_FALSE(is_pickle_file(scratch.file("a.npz", zip({{"x.npy", npy("<f4", "(1,)", raw<float>({1}))}}))));
  EXPECT_FALSE(is_pickle_file(scratch.file("a.csv", "1,2\n")));
  EXPECT_FALSE(is_pickle_file(scratch.file("empty", "")));
  EXPECT_FALSE(is_pickle_file(scratch.path("absent")));
}

}  // namespace
}  // namespace selfnorm

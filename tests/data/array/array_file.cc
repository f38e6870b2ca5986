#include "data/array/array_file.h"

#include <gtest/gtest.h>

#include <vector>

#include "data/array_bytes.h"

namespace selfnorm {
namespace {

using Floats = std::vector<float>;

Floats values(const ArrayFile& file, const std::string& name) {
  const ArrayEntry* entry = file.find(name);
  Floats out(entry->elements);
  file.view(*entry).widen(0, out);
  return out;
}

std::string error_of(const std::string& path, const std::string& name) {
  try {
    const ArrayFile file(path);
    file.view(*file.find(name));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ArrayFile, TheThreeFormatsHoldTheSameArrays) {
  const Scratch scratch;
  const std::string bytes = raw<float>({1, 2, 3, 4, 5, 6}), array = npy("<f4", "(2, 3)", bytes);
  const ArrayFile one(scratch.file("a", array));
  EXPECT_EQ(one.format(), ArrayFormat::npy);
  EXPECT_EQ(values(one, ""), (Floats{1, 2, 3, 4, 5, 6}));
  const ArrayFile archive(scratch.file("b", zip({{"s.npy", array}, {"d.npy", array, true}, {"note", "x"}})));
  EXPECT_EQ(archive.format(), ArrayFormat::npz);
  EXPECT_EQ(archive.entries().size(), 2u);
  EXPECT_EQ(archive.find("s")->descr, "<f4");
  EXPECT_EQ(values(archive, "s"), values(one, ""));
  EXPECT_EQ(values(archive, "d"), values(one, ""));
  const ArrayFile tensors(scratch.file("c", safetensors({{"t", "F32", "[2, 3]", bytes}}, R"({"k":"v"})")));
  EXPECT_EQ(tensors.format(), ArrayFormat::safetensors);
  EXPECT_EQ(tensors.metadata().at("k"), "v");
  EXPECT_EQ(values(tensors, "t"), values(one, ""));
  for (const ArrayEntry* entry :
       {&one.entries()[0], archive.find("s"), archive.find("d"), tensors.find("t")}) {
    EXPECT_EQ(entry->shape_text(), "[2, 3]");
    EXPECT_EQ(entry->type.name(), "float32");
    EXPECT_EQ(entry->elements, 6u);
  }
  EXPECT_EQ(tensors.find("u"), nullptr);
}

// Before anything is made as large as they are.
TEST(ArrayFile, SizesThatAreNotThereAreRefusedAtOnce) {
  const Scratch scratch;
  const std::string huge = npy("<f4", "(1, 1000000000)", "12345678");
  EXPECT_THROW(ArrayFile(scratch.file("a.npy", huge)), DataError);
  for (const bool deflated : {false, true}) {
    const ArrayFile file(scratch.file("a.npz", zip({{"x.npy", huge, deflated}})));
    EXPECT_NE(file.find("x")->problem.find("declares 4000000000 bytes of elements, but 8 follow"),
              std::string::npos)
        << file.find("x")->problem;
  }
}

TEST(ArrayFile, ManyMembers) {
  const Scratch scratch;
  std::vector<Member> members;
  for (int i = 0; i < 40'000; ++i)
    members.push_back({std::to_string(i) + ".npy", npy("<f4", "(1,)", raw<float>({float(i)}))});
  const std::string path = scratch.file("many.npz", zip(members));
  EXPECT_EQ(values(ArrayFile(path), "39999"), Floats{39999});
}

TEST(ArrayFile, AViewOutlivesItsFile) {
  const Scratch scratch;
  const std::string path =
      scratch.file("a.npz", zip({{"s.npy", npy("<i4", "(2,)", raw<int32_t>({7, -8}))},
                                 {"d.npy", npy("<f2", "(1,)", raw<uint16_t>({0x4900})), true}}));
  ArrayView stored, inflated;
  {
    const ArrayFile file(path);
    stored = file.view(*file.find("s"));
    inflated = file.view(*file.find("d"));
  }
  Floats two(2), one(1);
  stored.widen(0, two);
  inflated.widen(0, one);
  EXPECT_EQ(two, (Floats{7, -8}));
  EXPECT_EQ(one, (Floats{10}));
}

TEST(ArrayFile, OneBadArrayDoesNotSpoilTheOthers) {
  const Scratch scratch;
  const std::string good = npy("<f4", "(1,)", raw<float>({1}));
  const std::string path =
      scratch.file("a.npz", zip({{"good.npy", good},
                                 {"object.npy", npy("|O", "(1,)", "x")},
                                 {"huge.npy", npy("<f4", "(9999999999, 9999999999)", "")},
                                 {"long.npy", npy("<f4", "(4000000000, 1000000000)", "")},
                                 {"flags.npy", npy("|b2", "(1,)", "xx")},
                                 {"short.npy", good.substr(0, good.size() - 1), true},
                                 {"garbage.npy", "garbage", true}}));
  EXPECT_EQ(values(ArrayFile(path), "good"), (Floats{1}));
  EXPECT_EQ(error_of(path, "object"),
            path +
                " 'object.npy': found elements of type '|O', expected f2, f4, f8, V2 "
                "(bfloat16), an integer, b1, S or U");
  EXPECT_EQ(error_of(path, "huge"), path + " 'huge.npy': the declared shape is too large");
  EXPECT_EQ(error_of(path, "long"), path +
                                        " 'long.npy': the header declares 16000000000000000000 bytes of "
                                        "elements, but 0 follow");
  EXPECT_EQ(error_of(path, "flags"),
            path +
                " 'flags.npy': found elements of type '|b2', expected f2, f4, f8, V2 "
                "(bfloat16), an integer, b1, S or U");
  EXPECT_EQ(error_of(path, "short"),
            path + " 'short.npy': the header declares 4 bytes of elements, but 3 follow");
  EXPECT_EQ(error_of(path, "garbage"),
            path + " 'garbage.npy': found no NPY magic bytes at the start, expected \\x93NUMPY");
}

TEST(ArrayFile, DamageIsFound) {
  const Scratch scratch;
  const std::string array = npy("<f4", "(2,)", raw<float>({1, 2}));
  std::string archive = zip({{"x.npy", array}});
  archive[30 + 5 + array.size() - 1] ^= 1;
  const std::string damaged = scratch.file("a.npz", archive);
  EXPECT_EQ(error_of(damaged, "x"), damaged + " 'x.npy': its CRC-32 is wrong: the archive is damaged");
  const std::string shorter = scratch.file("a.npy", array.substr(0, array.size() - 3));
  EXPECT_EQ(error_of(shorter, ""), shorter + ": the header declares 8 bytes of elements, but 5 follow");
  const std::string text = scratch.file("a.txt", "1,2\n");
  EXPECT_EQ(error_of(text, ""), text + ": found no array file; expected npy, npz or safetensors");
  const std::string empty = scratch.file("e", "");
  EXPECT_EQ(error_of(empty, ""), empty + ": found no array file; expected npy, npz or safetensors");
  const std::string packed = scratch.file("z", gzip(array));
  EXPECT_EQ(error_of(packed, ""), "cannot read " + packed + ": expected a regular file, not compressed");
  EXPECT_EQ(
      error_of(scratch.path("none"), ""),
      "cannot read " + scratch.path("none") + ": there is no such file; give the path of one that exists");
}

TEST(ArrayFile, ManyNamesAreCounted) {
  std::vector<ArrayEntry> entries(14);
  for (size_t i = 0; i < entries.size(); ++i) entries[i].name = std::string(1, static_cast<char>('a' + i));
  EXPECT_EQ(list_of_names(entries),
            "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l' and 2 others");
  EXPECT_EQ(list_of_names({}), "nothing");
}

}  // namespace
}  // namespace selfnorm

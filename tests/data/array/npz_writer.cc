#include <gtest/gtest.h>

#include <vector>

#include "data/array/array_file.h"
#include "data/array_bytes.h"
#include "data/write.h"

namespace selfnorm {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string elements(const std::string& path, const std::string& name) {
  const ArrayFile file(path);
  const ArrayEntry* entry = file.find(name);
  if (!entry) return "absent";
  const ArrayView view = file.view(*entry);
  return {reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size()};
}

// The method of a member, from the directory.
int method_of(const std::string& archive, const std::string& name) {
  const size_t at = archive.rfind(name);
  return archive[at - 46 + 10];
}

TEST(NpzWriter, PutsAddsLeavesOutAndCopies) {
  const Scratch scratch;
  const std::string old = raw<float>({1, 2}), fresh = raw<float>({3, 4, 5});
  const std::string object = npy("|O", "(1,)", "pickled");
  const std::string path = scratch.file("a.npz", zip({{"first.npy", npy("<f4", "(2,)", old), true},
                                                      {"note.txt", std::string(1000, 'n'), true},
                                                      {"second.npy", npy("<f4", "(2,)", old)},
                                                      {"stale.npy", npy("<f4", "(2,)", old)},
                                                      {"object.npy", object, true}}));
  const auto bytes = std::as_bytes(std::span(fresh));
  for (const std::string& out : {scratch.path("b.npz"), path}) {
    rewrite_npz(
        path,
        {{{"first", "<f4", {3}, bytes}, {"new", "<f2", {2, 3}, bytes}, {"second", "<f4", {1, 3}, bytes}},
         {"stale", "second", "never"}},
        out);
    const ArrayFile file(out);
    EXPECT_EQ(file.entries().size(), 4u);
    EXPECT_EQ(elements(out, "first"), fresh);
    EXPECT_EQ(elements(out, "second"), fresh);
    EXPECT_EQ(elements(out, "new"), fresh);
    EXPECT_EQ(elements(out, "stale"), "absent");
    EXPECT_EQ(file.find("second")->shape_text(), "[1, 3]");
    EXPECT_EQ(file.find("new")->descr, "<f2");
    const std::string archive = bytes_of(out);
    EXPECT_EQ(method_of(archive, "first.npy"), 8);
    EXPECT_EQ(method_of(archive, "second.npy"), 0);
    EXPECT_EQ(method_of(archive, "new.npy"), 8);  // as the first one replaced
    // The local record of a member that is not an array, byte for byte.
    const std::string note = zip({{"note.txt", std::string(1000, 'n'), true}});
    EXPECT_NE(archive.find(note.substr(0, note.find("PK\1\2"))), std::string::npos);
    EXPECT_NE(archive.find("object.npy" + gzip(object).substr(10, gzip(object).size() - 18)),
              std::string::npos);
  }
}

TEST(NpzWriter, NothingToChangeGivesTheSameArchive) {
  const Scratch scratch;
  const std::string archive =
      zip({{"x.npy", npy("<f4", "(1,)", raw<float>({1})), true}, {"y", "text"}, {"", "nameless"}});
  const std::string path = scratch.file("a.npz", archive);
  rewrite_npz(path, {}, scratch.path("b.npz"));
  EXPECT_EQ(bytes_of(scratch.path("b.npz")), archive);
}

TEST(NpzWriter, SizesOf64Bits) {
  const Scratch scratch;
  // A member that says it unpacks to 5 GB: the sizes move to the zip64 field, and back.
  std::string archive =
      zip({{"x.npy", npy("<f4", "(1,)", raw<float>({1}))}, {"huge", std::string(6'000'000, 'h')}});
  const size_t entry = archive.rfind("PK\1\2");
  const std::string field = little(1, 2) + little(8, 2) + little(5'000'000'000, 8);
  archive.replace(entry + 10, 2, little(8, 2))
      .replace(entry + 24, 4, "\xFF\xFF\xFF\xFF")
      .replace(entry + 30, 2, little(12, 2));
  archive.insert(entry + 46 + 4, field);
  const size_t end = archive.rfind("PK\5\6");
  archive.replace(end + 12, 4, little(end - archive.find("PK\1\2"), 4));
  const std::string path = scratch.file("a.npz", archive), out = scratch.path("b.npz");
  rewrite_npz(path, {}, out);
  const std::string once = bytes_of(out);
  EXPECT_NE(once.find(field), std::string::npos);
  EXPECT_EQ(elements(out, "x"), raw<float>({1}));
  rewrite_npz(out, {}, out);
  EXPECT_EQ(bytes_of(out), once);
}

TEST(NpzWriter, LeavesNothingBehindWhenItFails) {
  const Scratch scratch;
  const std::string path = scratch.file("a.npz", "PK\3\4 damaged");
  EXPECT_THROW(rewrite_npz(path, {}, scratch.path("b.npz")), Error);
  EXPECT_FALSE(std::filesystem::exists(scratch.path("b.npz")));
  EXPECT_EQ(bytes_of(path), "PK\3\4 damaged");
}

}  // namespace
}  // namespace selfnorm

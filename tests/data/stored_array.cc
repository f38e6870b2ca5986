#include "data/stored_array.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "data/file_systems.h"
#include "scratch.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

StoredArray<uint32_t> in_file(const Scratch& folder, const std::vector<uint32_t>& values) {
  StoredArray<uint32_t> out(std::make_shared<NumberFile>(folder.path("")));
  out.append(std::span(values).first(values.size() / 2));
  for (size_t i = values.size() / 2; i < values.size(); ++i) out.push_back(values[i]);
  out.seal();
  return out;
}

std::vector<uint32_t> counted(size_t n) {
  std::vector<uint32_t> out(n);
  std::iota(out.begin(), out.end(), 7u);
  return out;
}

TEST(StoredArray, OfAFileIsTheSameAsInMemory) {
  const Scratch folder;
  for (const size_t n : {0, 1, 1000, 1'000'003}) {
    const std::vector<uint32_t> values = counted(n);
    const StoredArray<uint32_t> there = in_file(folder, values), here(values);
    EXPECT_EQ(there.size(), n);
    EXPECT_EQ(there, here);
    EXPECT_EQ(std::vector<uint32_t>(there.begin(), there.end()), values);
    uint64_t sum = 0, expected = 0;
    for_each_piece(there, [&](std::span<const uint32_t> piece) {
      for (const uint32_t x : piece) sum += x;
    });
    for (const uint32_t x : values) expected += x;
    EXPECT_EQ(sum, expected);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("")));  // its files have no names
}

TEST(StoredArray, CopiesShareAFileUntilOneIsWrittenTo) {
  const Scratch folder;
  StoredArray<uint32_t> a = in_file(folder, counted(5));
  const StoredArray<uint32_t> b = a;
  EXPECT_EQ(a.data(), b.data());
  a.own()[0] = 1;
  EXPECT_EQ(a[0], 1u);
  EXPECT_EQ(b, StoredArray<uint32_t>(counted(5)));
  EXPECT_EQ(a.file(), nullptr);
}

TEST(StoredArray, KeepsTheNameItIsGiven) {
  const Scratch folder;
  const StoredArray<uint32_t> a = in_file(folder, counted(10'000));
  a.file()->link(folder.path("a"));
  const StoredArray<uint32_t> b(NumberFile::open(folder.path("a"), folder.path("")));
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.file()->digest(), b.file()->digest());
  EXPECT_NE(a.file()->digest(), in_file(folder, counted(9'999)).file()->digest());
  EXPECT_THROW(a.file()->link(folder.path("a")), Error);  // somebody has it
  EXPECT_THROW(NumberFile::open(folder.path("b"), folder.path("")), Error);
  EXPECT_THROW(NumberFile(folder.path("none")), Error);
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
}

// Where there are no nameless files an array has a name, which it leaves for the one it is given, or which
// goes with it.
TEST(StoredArray, HasANameWhereFilesNeedOne) {
  const Scratch folder;
  without_nameless_files([&] {
    StoredArray<uint32_t> a = in_file(folder, counted(10'000));
    in_file(folder, counted(7));
    const auto files = std::filesystem::directory_iterator(folder.path(""));
    EXPECT_EQ(std::distance(begin(files), end(files)), 1);
    a.file()->link(folder.path("a"));
    EXPECT_EQ(mode_of(folder.path("a")), 0644u);
    EXPECT_THROW(in_file(folder, counted(5)).file()->link(folder.path("a")), Error);  // somebody has it
    const StoredArray<uint32_t> b(NumberFile::open(folder.path("a"), folder.path("")));
    EXPECT_EQ(a, b);
    a.clear();
    EXPECT_EQ(b, StoredArray<uint32_t>(counted(10'000)));
  });
  const auto files = std::filesystem::directory_iterator(folder.path(""));
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

uint64_t resident_bytes_of_files() {
  uint64_t size = 0, resident = 0, shared = 0;
  std::ifstream("/proc/self/statm") >> size >> resident >> shared;
  return shared * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Pages are given back, and read again when they are looked at again.
TEST(StoredArray, PagesAreGivenBack) {
  const Scratch folder;
  const std::vector<uint32_t> values = counted(16 << 20);
  const StoredArray<uint32_t> a = in_file(folder, values);
  const uint64_t before = resident_bytes_of_files();
  const auto most_resident = [&] {
    uint64_t most = 0;
    for (size_t i = 0; i < values.size(); i += 1024) {
      EXPECT_EQ(a[i], values[i]);
      a.was_read(1);
      most = std::max(most, resident_bytes_of_files());
    }
    return most - before;
  };
  NumberFile::limit_resident(4 << 20);
  EXPECT_LT(most_resident(), uint64_t{24} << 20);
  NumberFile::limit_resident(0);
  EXPECT_GT(most_resident(), uint64_t{48} << 20);
}

}  // namespace
}  // namespace selfnorm

#include "data/dataset_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "data/array_bytes.h"
#include "data/example_source.h"
#include "data/file_systems.h"
#include "data/reader_checks.h"
#include "math/random.h"
#include "scratch.h"

namespace selfnorm {
namespace {

namespace fs = std::filesystem;

std::string rows_of(uint64_t seed, int rows) {
  RandomStream random(seed);
  std::string out = "# a comment\n";
  for (int i = 0; i < rows; ++i) {
    out += fmt::format("{}", i == 0 ? 10 : static_cast<int>(random.below(4)) - 1);
    for (uint64_t j = 1 + random.below(3); j < 40; j += 1 + random.below(9))
      out += fmt::format(" {}:{:.3g}", j, random.normal());
    out += i % 7 == 3 ? "\n\n" : "\n";
  }
  return out;
}

std::string stored_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> entries(const std::string& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(folder)) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

bool was_written(const ReadResult& read) {
  return read.report.notes.back().find("written now") != std::string::npos;
}

class DatasetCache : public testing::Test {
 protected:
  DatasetCache() { options_.cache = folder_.path("cache"); }
  ReadResult read(const std::string& name = "a.svm") const {
    return read_dataset(folder_.path(name), options_);
  }
  // The folder of the only entry.
  std::string entry() const {
    const auto all = entries(options_.cache);
    EXPECT_EQ(all.size(), 1u);
    return all.at(0).string();
  }

  Scratch folder_;
  ReadOptions options_;
};

TEST_F(DatasetCache, IsTheDataSetInMemory) {
  for (const int rows : {1, 2, 50, 3000}) {
    folder_.file("a.svm", rows_of(static_cast<uint64_t>(rows), rows));
    const ReadResult memory = read_dataset(folder_.path("a.svm"));
    for (const uint32_t block : {64u, 1000u, 1u << 20}) {
      fs::remove_all(options_.cache);
      options_.block_bytes = block;
      const ReadResult made = read(), found = read();
      EXPECT_TRUE(was_written(made));
      EXPECT_FALSE(was_written(found));
      for (const ReadResult* of : {&made, &found}) {
        expect_equal(of->data, memory.data);
        EXPECT_NE(of->data.target.file(), nullptr);
        EXPECT_EQ(of->report.rows, memory.report.rows);
        EXPECT_EQ(of->report.bytes, memory.report.bytes);
        for (uint64_t i = 0; i < memory.data.examples(); ++i)
          ASSERT_EQ(of->data.numbers[i], memory.data.numbers[i]);
      }
      expect_equal(make_example_source(found.data)->block(0, found.data.examples()),
                   make_example_source(memory.data)->block(0, memory.data.examples()));
    }
  }
}

TEST_F(DatasetCache, BadRowsAndUnseenLabelsAreRemembered) {
  folder_.file("a.svm", "1 1:2\nx 1:z\n9 2:1\n0 1:1\n");
  const Schema schema{.labels = {"0", "1"}, .feature_count = 3, .feature_names = {}, .text = {}};
  options_.schema = &schema;
  options_.skip_bad = 1;
  options_.keep_unseen = true;
  for (const ReadResult& of : {read(), read()}) {
    ASSERT_EQ(of.report.bad.size(), 1u);
    EXPECT_EQ(of.report.bad[0].line, 2u);
    EXPECT_EQ(of.report.left_out, std::vector<uint64_t>{1});
    EXPECT_EQ(of.report.unseen.examples, 1u);
    EXPECT_EQ(of.report.unseen.label, "9");
    EXPECT_EQ(of.data.target, (std::vector<uint32_t>{1, Dataset::kUnseenTarget, 0}));
    EXPECT_EQ(of.data.features.columns(), 3u);
  }
  const Schema other{.labels = {"0", "1", "9"}, .feature_count = 3, .feature_names = {}, .text = {}};
  options_.schema = &other;
  EXPECT_TRUE(was_written(read()));
}

TEST_F(DatasetCache, OtherTextIsReadAgain) {
  folder_.file("a.svm", rows_of(1, 40));
  read();
  folder_.file("a.svm", rows_of(2, 40));
  const ReadResult second = read();
  EXPECT_TRUE(was_written(second));
  expect_equal(second.data, read_dataset(folder_.path("a.svm")).data);
  EXPECT_NE(second.report.notes[0].find("not those that it was made of"), std::string::npos);
  // The same bytes, changed at another time.
  fs::last_write_time(folder_.path("a.svm"), fs::file_time_type::clock::now() + std::chrono::seconds(5));
  EXPECT_TRUE(was_written(read()));
  EXPECT_FALSE(was_written(read()));
  entry();
}

TEST_F(DatasetCache, SeveralFilesAreOne) {
  folder_.file("a.svm", rows_of(1, 40));
  folder_.file("b.svm", rows_of(2, 30));
  EXPECT_EQ(read("*.svm").data.examples(), 70u);
  EXPECT_FALSE(was_written(read("*.svm")));
  folder_.file("c.svm", rows_of(3, 20));
  EXPECT_EQ(read("*.svm").data.examples(), 90u);
}

// Every byte of the arrays of an entry, and every fourth of its record, changed; files cut, lengthened or
// gone.
TEST_F(DatasetCache, DamageIsFoundAndMadeGood) {
  folder_.file("a.svm", rows_of(1, 4));
  const Dataset memory = read_dataset(folder_.path("a.svm")).data;
  read();
  uint64_t damages = 0;
  for (const fs::path& file : entries(entry())) {
    const std::string bytes = stored_bytes(file);
    const auto expect_made_good = [&](const std::string& damaged, const std::string& how) {
      ++damages;
      std::ofstream(file, std::ios::binary) << damaged;
      const ReadResult read_again = read();
      ASSERT_TRUE(was_written(read_again)) << file << " " << how;
      expect_equal(read_again.data, memory);
      ASSERT_EQ(stored_bytes(file), bytes);
    };
    const size_t step = file.extension() == ".json" ? 4 : 1;
    for (size_t i = 0; i < bytes.size(); i += step) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
      expect_made_good(damaged, fmt::format("byte {}", i));
    }
    if (!bytes.empty()) expect_made_good(bytes.substr(0, bytes.size() / 2), "cut");
    expect_made_good(bytes + '\0', "longer");
    fs::remove(file);
    EXPECT_TRUE(was_written(read())) << file;
  }
  EXPECT_GT(damages, 500u);
}

TEST_F(DatasetCache, TheSplitIsThatInMemory) {
  folder_.file("a.svm", rows_of(5, 300));
  const Dataset memory = read_dataset(folder_.path("a.svm")).data;
  const auto [kept, held] = random_split(300, 0.2, 3, 9);
  for (int round = 0; round < 2; ++round) {
    const CachedSplit split = cached_split(read().data, 0.2, 3, 9);
    expect_equal(split.kept, subset(memory, kept));
    expect_equal(split.held_out, subset(memory, held));
    EXPECT_EQ(split.places, held);
  }
  EXPECT_NE(cached_split(read().data, 0.2, 4, 9).places, held);
  EXPECT_EQ(entries(options_.cache).size(), 3u);  // of two seeds
}

// Another run makes the rows anew, or removes them, while this one has mapped them.
TEST_F(DatasetCache, ASplitIsOfTheRowsThatAreMapped) {
  folder_.file("a.svm", rows_of(5, 300));
  const ReadResult first = read();
  const Dataset old = read_dataset(folder_.path("a.svm")).data;
  folder_.file("a.svm", rows_of(6, 300));
  const ReadResult second = read();
  const auto [kept, held] = random_split(300, 0.2, 3, 9);
  const auto expect_split = [&](const Dataset& of, const Dataset& memory) {
    const CachedSplit split = cached_split(of, 0.2, 3, 9);
    expect_equal(split.kept, subset(memory, kept));
    expect_equal(split.held_out, subset(memory, held));
  };
  const Dataset now = read_dataset(folder_.path("a.svm"), {}).data;
  for (int round = 0; round < 2; ++round) {
    expect_split(first.data, old);
    expect_split(second.data, now);
    fs::remove_all(second.data.stored_in);
  }
}

// The text in place and its time as before: who changes it cannot keep the time of the change.
TEST_F(DatasetCache, TextChangedUnderItsTimeIsReadAgain) {
  const std::string path = folder_.file("a.svm", rows_of(1, 30'000));
  const auto time = fs::last_write_time(path);
  read();
  std::string bytes = stored_bytes(path);
  const size_t last = bytes.find(':', 5000);  // between the parts that are looked at
  bytes[last + 1] = bytes[last + 1] == '7' ? '8' : '7';
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << bytes;
  fs::last_write_time(path, time);
  const ReadResult second = read();
  EXPECT_TRUE(was_written(second));
  expect_equal(second.data, read_dataset(path).data);
}

// Runs that share a folder, with texts that change now and then.
TEST_F(DatasetCache, ManyMakeTheSameEntryAtOnce) {
  folder_.file("a.svm", rows_of(1, 3000));
  const Dataset memory = read_dataset(folder_.path("a.svm")).data;
  options_.threads = 1;
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> written = 0;
    std::vector<std::thread> runs;
    for (uint64_t i = 0; i < 8; ++i)
      runs.emplace_back([&, i] {
        try {
          const ReadResult own = read();
          if (was_written(own)) ++written;
          expect_equal(own.data, memory);
          const CachedSplit split = cached_split(own.data, 0.2, i % 2, 9);
          const auto [kept, held] = random_split(3000, 0.2, i % 2, 9);
          expect_equal(split.kept, subset(memory, kept));
          expect_equal(split.held_out, subset(memory, held));
        } catch (const std::exception& error) {
          ADD_FAILURE() << error.what();
        }
      });
    for (std::thread& run : runs) run.join();
    EXPECT_EQ(written, 1);
    EXPECT_EQ(entries(options_.cache).size(), 3u);
    // The next round finds the entries damaged, or none.
    for (const fs::path& entry : entries(options_.cache))
      if (round % 2 == 0)
        fs::resize_file(entry / (fs::exists(entry / "value") ? "value" : "train-value"), 8);
      else
        fs::remove_all(entry);
  }
}

TEST_F(DatasetCache, WhatAKillLeftIsRemoved) {
  folder_.file("a.svm", rows_of(1, 40));
  read();
  const std::string place = entry();
  fs::rename(place, place + ".a1B2c3");
  EXPECT_TRUE(was_written(read()));
  EXPECT_EQ(entry(), place);
}

TEST_F(DatasetCache, IsMadeWhereFilesNeedNames) {
  folder_.file("a.svm", rows_of(1, 400));
  const Dataset memory = read_dataset(folder_.path("a.svm")).data;
  options_.threads = 1;
  const auto [kept, held] = random_split(400, 0.2, 3, 9);
  without_nameless_files([&, &kept = kept] {
    expect_equal(read().data, memory);
    expect_equal(cached_split(read().data, 0.2, 3, 9).kept, subset(memory, kept));
  });
  EXPECT_FALSE(was_written(read()));
  EXPECT_EQ(entries(options_.cache).size(), 2u);
}

TEST_F(DatasetCache, AnErrorIsTheSameWhereRowsAreThere) {
  folder_.file("a.svm", rows_of(1, 40));
  read();
  options_.target = "label";
  for (int round = 0; round < 2; ++round) EXPECT_THROW(read(), DataError);
}

// Mounted for reading: rows that are there are read, and split in nameless files elsewhere.
TEST_F(DatasetCache, AFolderThatCannotBeWrittenIsRead) {
  fs::create_directory(options_.cache);
  if (::mount("none", options_.cache.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "needs root";
  folder_.file("a.svm", rows_of(1, 300));
  folder_.file("b.svm", rows_of(2, 300));
  const Dataset memory = read_dataset(folder_.path("a.svm")).data;
  read();
  ::mount("none", options_.cache.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=1m");
  const auto [kept, held] = random_split(300, 0.2, 3, 9);
  std::string message;
  try {
    expect_equal(cached_split(read().data, 0.2, 3, 9).kept, subset(memory, kept));
    read("b.svm");
  } catch (const Error& error) {
    message = error.what();
  }
  ::umount2(options_.cache.c_str(), MNT_DETACH);
  EXPECT_NE(message.find("give a folder that can be written, or leave out"), std::string::npos) << message;
}

// Two runs beside each other, and one that was killed.
TEST(RunCacheFolder, IsOfOneRun) {
  const Scratch folder;
  const auto file_in = [](const std::string& path) { std::ofstream(path + "/rows") << "1"; };
  const std::string killed = folder.path(".selfnorm-rows-a1B2c3");
  fs::create_directory(killed);
  std::ofstream(killed + "/.run") << "";
  file_in(killed);
  {
    const RunCache one(folder.path("run"));
    file_in(one.folder());
    {
      const RunCache two(folder.path("run"));
      EXPECT_NE(one.folder(), two.folder());
      file_in(two.folder());
      EXPECT_EQ(entries(folder.path("")).size(), 2u);
      EXPECT_FALSE(fs::exists(killed));
    }
    EXPECT_TRUE(fs::exists(one.folder() + "/rows"));
    one.forget_names();
    EXPECT_FALSE(fs::exists(one.folder() + "/rows"));
    const RunCache three(folder.path("run"));
    EXPECT_TRUE(fs::exists(one.folder()));
    EXPECT_EQ(entries(folder.path("")).size(), 2u);
  }
  EXPECT_TRUE(fs::is_empty(folder.path("")));
}

TEST_F(DatasetCache, RefusesWhatItCannotKeep) {
  const auto error_of = [&](const std::string& name, const std::string& bytes) -> std::string {
    folder_.file(name, bytes);
    try {
      read(name);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(error_of("t.csv", "y,a\nu,1\nv,2\n").find("is for svmlight"), std::string::npos);
  EXPECT_NE(error_of("g.svm", "1 qid:1 1:1\n0 qid:1 2:1\n").find("is for classes"), std::string::npos);
  EXPECT_NE(error_of("b.svm", "1 1:2\n1 0:2\n").find("b.svm:2:"), std::string::npos);
  EXPECT_TRUE(entries(options_.cache).empty());  // nothing is left of them
  folder_.file("cache2", "a file");
  options_.cache = folder_.path("cache2");
  EXPECT_NE(error_of("a.svm", "1 1:2\n0 2:2\n").find("cannot make the folder"), std::string::npos);
}

// On a disk of one megabyte.
TEST_F(DatasetCache, AFullDiskLeavesNothing) {
  options_.cache = folder_.path("small");
  fs::create_directory(options_.cache);
  if (::mount("none", options_.cache.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "needs root";
  folder_.file("a.svm", rows_of(1, 60'000));
  std::string message;
  try {
    read();
  } catch (const Error& error) {
    message = error.what();
  }
  const bool is_empty = entries(options_.cache).empty();
  folder_.file("b.svm", rows_of(1, 100));
  const bool has_room = was_written(read("b.svm"));
  ::umount2(options_.cache.c_str(), MNT_DETACH);
  EXPECT_NE(message.find("No space left on device"), std::string::npos) << message;
  EXPECT_NE(message.find("MB are free there: make room"), std::string::npos) << message;
  EXPECT_TRUE(is_empty);
  EXPECT_TRUE(has_room);
}

TEST(EstimatedMemory, IsThatOfTheArrays) {
  const Scratch folder;
  const std::string path = folder.file("a.svm", rows_of(1, 2000));
  const Dataset data = read_dataset(path).data;
  const double bytes = 8.0 * static_cast<double>(data.features.sparse.column.size()) + 12.0 * 2000;
  EXPECT_NEAR(estimated_memory(path, {}), bytes, 0.2 * bytes);
  EXPECT_EQ(estimated_memory(folder.file("a.csv", "y,a\nu,1\nv,2\n"), {}), 0);
}

}  // namespace
}  // namespace selfnorm

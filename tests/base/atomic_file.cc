#include "base/atomic_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  AtomicFileTest() {
    std::string pattern = (fs::temp_directory_path() / "selfnorm-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    path_ = (directory_ / "file").string();
  }
  ~AtomicFileTest() override { fs::remove_all(directory_); }

  std::string contents() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  long entries() const { return std::distance(fs::directory_iterator(directory_), fs::directory_iterator()); }

  fs::path directory_;
  std::string path_;
};

std::string error_of(const std::string& path) {
  try {
    AtomicFile file(path);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST_F(AtomicFileTest, CommitReplaces) {
  for (std::string text : {std::string("first"), std::string(3 << 20, 'x')}) {
    AtomicFile file(path_);
    file.write(text);
    file.commit();
    EXPECT_EQ(contents(), text);
  }
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFileTest, WithoutCommitNothingChanges) {
  std::ofstream(path_) << "old";
  { AtomicFile(path_).write("new"); }
  EXPECT_EQ(contents(), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFileTest, PlacesThatCannotBeWritten) {
  EXPECT_EQ(error_of(directory_.string()), "cannot write " + directory_.string() + ": it is a directory");
  EXPECT_EQ(error_of(path_ + "/x"), "cannot create " + path_ + "/x: No such file or directory");
  EXPECT_EQ(error_of(""), "cannot write a file without a name");
}

TEST_F(AtomicFileTest, OnlyFilesAreReplaced) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(error_of(path_), "cannot write " + path_ + ": it is a device, pipe or socket, expected a file");
  EXPECT_TRUE(fs::is_fifo(path_));
  EXPECT_EQ(error_of("-").rfind("cannot write to standard output", 0), 0u);
  fs::create_symlink(path_, directory_ / "to-pipe");
  EXPECT_NE(error_of((directory_ / "to-pipe").string()), "");
  fs::create_symlink("loop", directory_ / "loop");
  EXPECT_NE(error_of((directory_ / "loop").string()).find("too many symbolic links"), std::string::npos);
}

TEST_F(AtomicFileTest, ASymbolicLinkStaysOne) {
  fs::create_directory(directory_ / "folder");
  fs::create_symlink("folder/second", directory_ / "first");
  fs::create_symlink("../file", directory_ / "folder" / "second");
  for (const char* text : {"new", "newer"}) {
    AtomicFile file((directory_ / "first").string());
    file.write(text);
    file.commit();
    EXPECT_EQ(contents(), text);
  }
  EXPECT_TRUE(fs::is_symlink(directory_ / "first"));
  EXPECT_TRUE(fs::is_symlink(directory_ / "folder" / "second"));
  EXPECT_EQ(entries(), 3);
}

// A file size limit stands for a full disk: write fails with EFBIG after some bytes.
TEST_F(AtomicFileTest, AFailedWriteLeavesTheOldFile) {
  std::ofstream(path_) << "old";
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = old;
  small.rlim_cur = 1 << 16;
  setrlimit(RLIMIT_FSIZE, &small);
  std::string message;
  try {
    AtomicFile file(path_);
    file.write(std::string(2 << 20, 'x'));
    file.commit();
  } catch (const Error& e) {
    message = e.what();
  }
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(message, "cannot write " + path_ + ": File too large");
  EXPECT_EQ(contents(), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFileTest, ASignalHandlerCanRemoveWhatIsUnfinished) {
  AtomicFile done(path_);
  done.write("whole");
  done.commit();
  AtomicFile again(path_), other(path_ + "2");
  again.write("half");
  EXPECT_EQ(entries(), 3);
  remove_unfinished_files();
  EXPECT_EQ(entries(), 1);
  EXPECT_EQ(contents(), "whole");
}

// In a container a program has the same number at every start.
TEST_F(AtomicFileTest, ANameLeftByAKilledProcessOfOurNumberIsNotInTheWay) {
  std::string first;
  {
    const AtomicFile file(path_);
    first = fs::directory_iterator(directory_)->path().string();
  }
  const size_t dash = first.rfind('-');
  const std::string next =
      first.substr(0, dash + 1) + std::to_string(std::stoull(first.substr(dash + 1)) + 1);
  std::ofstream(next) << "left";
  AtomicFile file(path_);
  file.write("whole");
  file.commit();
  EXPECT_EQ(contents(), "whole");
}

}  // namespace
}  // namespace selfnorm

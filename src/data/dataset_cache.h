// Data sets on disk as the arrays that they are in memory, mapped for reading (data/stored_array.h): for data
// beyond memory, and for those that are read more than once. Text is read to files, a block at a time, and
// kept in a folder:
//
//   FOLDER/<name>-<16 digits>/   begin, column, value, target, numbers: the arrays; entry.json: the rest
//
// An entry appears whole or not at all: its files have no names until all are on disk, entry.json is the
// last, and the folder is renamed to its place, where it is not changed. It says what it was made of (paths,
// sizes, times, inodes and parts of the text, options of reading) and the digests of its arrays; one that
// says something else, or is damaged, is made anew, while those who mapped the old one keep it.
//
// Runs share a folder: one at a time makes entries in it (FOLDER/.lock), the others wait and look again. Of
// the processes of a run the first one makes entries, the others wait and map them; where they do not see
// its folder (machines without a shared disk) they make their own.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/failure.h"
#include "data/read.h"

namespace selfnorm {

// read_dataset with ReadOptions::cache. Sparse rows of classes alone (svmlight). Throws DataError and Error
// as that does.
ReadResult read_cached(const std::string& path, const ReadOptions& options);

// What the rows would take in memory, in bytes, by the first of them; 0: not sparse rows of classes in files.
double estimated_memory(const std::string& path, const ReadOptions& options);

// The parts of random_split as two data sets, beside a data set of read_cached in its folder; and the places
// of those held out. Where the folder cannot be written they are in nameless files of the folder for
// temporary files.
struct CachedSplit {
  Dataset kept, held_out;
  std::vector<uint64_t> places;
};
CachedSplit cached_split(const Dataset& data, double fraction, uint64_t seed, uint64_t stream);

// While alive: a lock (flock) of a file in this folder, LOCK_EX or LOCK_SH; a file of LOCK_EX goes with it.
// Throws Error where the folder cannot be written; where the file system has no locks it is not held.
class LockFile {
 public:
  LockFile(const std::string& folder, const char* name, int kind)
      : path_(folder + "/" + name), is_exclusive_(kind == LOCK_EX) {
    struct stat status {};
    while (status.st_nlink == 0) {  // no file yet, or one that whoever had the lock has removed
      if (descriptor_ >= 0) ::close(descriptor_);
      std::error_code ignored;
      std::filesystem::create_directories(folder, ignored);
      descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      is_new_ = descriptor_ >= 0;
      if (!is_new_ && errno == EEXIST) descriptor_ = open_there();
      if (const int reason = errno; descriptor_ < 0) {
        if (reason == ENOENT && std::filesystem::is_directory(folder, ignored)) continue;
        throw_error("cannot write in {}: {}; give a folder that can be written, or leave out `cache`", folder,
                    std::strerror(reason));
      }
      int result = 0;
      do {
        result = ::flock(descriptor_, kind);
      } while (result != 0 && errno == EINTR);
      is_held_ = result == 0;
      if (::fstat(descriptor_, &status) != 0) break;
    }
  }
  ~LockFile() {
    if (is_exclusive_) ::unlink(path_.c_str());
    ::close(descriptor_);
  }
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  bool is_new() const { return is_new_; }  // made here
  bool is_held() const { return is_held_; }

 private:
  int open_there() const {  // that of another user can be locked too
    const int descriptor = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    return descriptor < 0 && errno == EACCES ? ::open(path_.c_str(), O_RDONLY | O_CLOEXEC) : descriptor;
  }

  std::string path_;
  int descriptor_ = -1;
  bool is_exclusive_, is_new_ = false, is_held_ = false;
};

// The folder of a cache for one run alone, .selfnorm-rows-?????? beside its own. All processes make one and
// hold a lock in it (.run); who made it removes it, on every machine. Those of runs that were killed, whose
// lock is free, are removed by the next one.
class RunCache {
 public:
  explicit RunCache(const std::string& run);
  ~RunCache();
  RunCache(const RunCache&) = delete;
  RunCache& operator=(const RunCache&) = delete;

  const std::string& folder() const { return folder_; }
  // When all processes have mapped what is there: it goes with them, however they end.
  void forget_names() const;

 private:
  std::string folder_;
  std::unique_ptr<LockFile> lock_;
};

}  // namespace selfnorm

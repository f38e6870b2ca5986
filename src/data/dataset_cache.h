// Data sets on disk as the arrays that they are in memory, mapped for reading (data/stored_array.h): for data
// beyond memory, and for those that are read more than once. Text is read to files, a block at a time, and
// kept in a folder:
//
//   FOLDER/<name>-<16 digits>/   begin, column, value, target, numbers: the arrays; entry.json: the rest
//
// An entry appears whole or not at all: its files have no names until all are on disk, entry.json is the
// last, and the folder is renamed to its place. It says what it was made of (paths, sizes, times and parts of
// the text, options of reading) and the digests of its arrays; one that says something else, or is damaged,
// is made anew.
//
// Of several processes the first one makes entries, the others wait and map them; where they do not see
// its folder (machines without a shared disk) they make their own.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/read.h"

namespace selfnorm {

// read_dataset with ReadOptions::cache. Sparse rows of classes alone (svmlight). Throws DataError and Error
// as that does.
ReadResult read_cached(const std::string& path, const ReadOptions& options);

// What the rows would take in memory, in bytes, by the first of them; 0: not sparse rows of classes in files.
double estimated_memory(const std::string& path, const ReadOptions& options);

// The parts of random_split as two data sets, beside a data set of read_cached in its folder; and the places
// of those held out.
struct CachedSplit {
  Dataset kept, held_out;
  std::vector<uint64_t> places;
};
CachedSplit cached_split(const Dataset& data, double fraction, uint64_t seed, uint64_t stream);

// The folder of a cache for one run alone, beside its own. All processes make one, and the first removes it.
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
  bool is_remover_;
};

}  // namespace selfnorm

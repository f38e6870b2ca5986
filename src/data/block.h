// A file in blocks of whole records, parsed in parallel and taken in file order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "records.h"
#include "source.h"

namespace selfnorm {

// The text ends with a line feed (added when the file lacks it), so a parser may look at the byte after a
// record.
struct Block {
  std::unique_ptr<char[]> bytes;
  size_t size = 0;
  std::exception_ptr failure;  // of reading; belongs after all earlier blocks

  std::string_view text() const { return {bytes.get(), size}; }
};

class LongRecord : public std::runtime_error {  // who counts the lines knows where
 public:
  using std::runtime_error::runtime_error;
};

class BlockReader {
 public:
  BlockReader(Input& input, RecordRule rule, size_t block_bytes)
      : input_(input), rule_(rule), block_bytes_(block_bytes) {}
  bool next(Block& block);               // false at the end; never throws
  int useful_threads(int wanted) const;  // 0: as many as ThreadLimit allows; no more than blocks

 private:
  void fill(Block& block);

  Input& input_;
  RecordRule rule_;
  size_t block_bytes_;
  std::string carry_;  // the start of a record whose end is in the next block
  bool ended_ = false;
};

// append(parse(text)) for every block: parse runs in parallel, append in file order. The first exception in
// file order is the one thrown. Every thread holds one block; plain threads and locks, so that
// ThreadSanitizer sees all of it.
template <class Part, class Parse, class Append>
void parse_blocks(BlockReader& reader, int threads, Parse parse, Append append) {
  std::mutex reading, appending;
  std::condition_variable turn;
  uint64_t next_read = 0, next_append = 0;
  std::atomic<bool> stop = false;
  std::exception_ptr failure;
  auto work = [&] {
    for (;;) {
      Block block;
      uint64_t number = 0;
      {
        std::lock_guard lock(reading);
        if (stop || !reader.next(block)) return;
        number = next_read++;
      }
      Part part;
      std::exception_ptr problem = block.failure;
      try {
        if (!problem) part = parse(block.text());
      } catch (...) {
        problem = std::current_exception();
      }
      std::unique_lock lock(appending);
      turn.wait(lock, [&] { return next_append == number; });
      try {
        if (problem && !failure) std::rethrow_exception(problem);
        if (!failure) append(std::move(part));
      } catch (...) {
        failure = std::current_exception();
        stop = true;
      }
      ++next_append;
      turn.notify_all();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = reader.useful_threads(threads); i > 1; --i) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace selfnorm

// Where records end. Line formats: at every line feed. Tables (RFC 4180): at a line feed outside quotes,
// where a quote opens only at the start of a field and "" inside quotes is a quote.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "data/input/source.h"

namespace selfnorm {

// kNone: lines; otherwise the separator of a table.
struct RecordRule {
  static constexpr char kNone = '\0';
  char separator = kNone;
};

// The line feed that ends the record at the start of `text`, as an offset; npos when there is none.
inline size_t record_end(std::string_view text, RecordRule rule) {
  if (rule.separator == RecordRule::kNone) return text.find('\n');
  for (size_t from = 0;;) {
    size_t line_end = text.find('\n', from);
    size_t quote = text.substr(0, line_end).find('"', from);
    if (quote == std::string_view::npos) return line_end;
    from = quote + 1;
    if (quote > 0 && text[quote - 1] != rule.separator) continue;
    for (;;) {
      size_t close = text.find('"', from);
      if (close == std::string_view::npos || close + 1 == text.size()) return std::string_view::npos;
      from = close + 1;
      if (text[from] != '"') break;
      ++from;
    }
  }
}

// Length of the longest prefix made of whole records.
size_t whole_records(std::string_view text, RecordRule rule);

// Takes the record at the start of `text` off it: without its line feed, carriage return before it. `lines`
// grows by the line feeds it spans. A table record that never ends is the whole rest.
std::string_view take_record(std::string_view& text, RecordRule rule, uint64_t& lines);

// A part of a file made of whole records. The text ends with a line feed (added where it lacks), so a parser
// may look at the byte after a record.
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

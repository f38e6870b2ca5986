// A file in blocks of whole records, parsed in parallel and taken in file order.
#pragma once

#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <utility>

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

class BlockReader {
 public:
  BlockReader(Input& input, RecordRule rule, size_t block_bytes)
      : input_(input), rule_(rule), block_bytes_(block_bytes) {}
  bool next(Block& block);  // false at the end; never throws

 private:
  void fill(Block& block);

  Input& input_;
  RecordRule rule_;
  size_t block_bytes_;
  std::string carry_;  // the start of a record whose end is in the next block
  bool ended_ = false;
};

// append(parse(text)) for every block: parse runs in parallel, append in file order. The first exception in
// file order is the one thrown.
template <class Part, class Parse, class Append>
void parse_blocks(BlockReader& reader, int threads, Parse parse, Append append) {
  struct Parsed {
    Part part;
    std::exception_ptr failure;
  };
  auto parse_block = [&](Block block) {
    Parsed parsed{{}, block.failure};
    try {
      if (!parsed.failure) parsed.part = parse(block.text());
    } catch (...) {
      parsed.failure = std::current_exception();
    }
    return std::make_shared<Parsed>(std::move(parsed));
  };
  auto append_part = [&](const std::shared_ptr<Parsed>& parsed) {
    if (parsed->failure) std::rethrow_exception(parsed->failure);
    append(std::move(parsed->part));
  };
  if (threads == 1) {
    for (Block block; reader.next(block);) append_part(parse_block(std::move(block)));
    return;
  }
  using Control = tbb::global_control;
  int allowed = static_cast<int>(Control::active_value(Control::max_allowed_parallelism));
  tbb::task_arena arena(threads > 0 ? std::min(threads, allowed) : allowed);
  arena.execute([&] {
    size_t in_flight = 2 * static_cast<size_t>(tbb::this_task_arena::max_concurrency());
    auto read = [&](tbb::flow_control& flow) {
      auto block = std::make_shared<Block>();
      if (!reader.next(*block)) flow.stop();
      return block;
    };
    using BlockPointer = std::shared_ptr<Block>;
    tbb::parallel_pipeline(
        in_flight,
        tbb::make_filter<void, BlockPointer>(tbb::filter_mode::serial_in_order, read) &
            tbb::make_filter<BlockPointer, std::shared_ptr<Parsed>>(
                tbb::filter_mode::parallel,
                [&](const BlockPointer& block) { return parse_block(std::move(*block)); }) &
            tbb::make_filter<std::shared_ptr<Parsed>, void>(tbb::filter_mode::serial_in_order, append_part));
  });
}

}  // namespace selfnorm

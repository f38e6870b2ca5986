#include "data/input/records.h"

#include <fmt/format.h>

#include <algorithm>

#include "math/parallel.h"

namespace selfnorm {
namespace {

constexpr size_t kLongestRecord = size_t{256} << 20;

}  // namespace

size_t whole_records(std::string_view text, RecordRule rule) {
  if (rule.separator == RecordRule::kNone || text.find('"') == std::string_view::npos)
    return text.rfind('\n') + 1;
  size_t whole = 0;
  for (;;) {
    size_t end = record_end(text.substr(whole), rule);
    if (end == std::string_view::npos) return whole;
    whole += end + 1;
  }
}

std::string_view take_record(std::string_view& text, RecordRule rule, uint64_t& lines) {
  size_t end = record_end(text, rule);
  bool complete = end != std::string_view::npos;
  std::string_view record = text.substr(0, end);
  lines += complete ? 1 : 0;
  if (rule.separator != RecordRule::kNone)
    lines += static_cast<uint64_t>(std::count(record.begin(), record.end(), '\n'));
  text.remove_prefix(complete ? end + 1 : text.size());
  if (record.ends_with('\r')) record.remove_suffix(1);
  return record;
}

bool BlockReader::next(Block& block) {
  if (ended_) return false;
  block = Block{};
  try {
    fill(block);
  } catch (...) {
    block.failure = std::current_exception();
    ended_ = true;
  }
  return block.size > 0 || block.failure;
}

int BlockReader::useful_threads(int wanted) const {
  const uint64_t threads = wanted > 0 ? static_cast<uint64_t>(wanted) : allowed_threads();
  auto bytes = input_.remaining();
  return static_cast<int>(bytes ? std::min(threads, 1 + *bytes / block_bytes_) : threads);
}

void BlockReader::fill(Block& block) {
  for (size_t capacity = carry_.size() + block_bytes_;; capacity *= 2) {
    block.bytes = std::make_unique_for_overwrite<char[]>(capacity + 1);
    size_t have = carry_.copy(block.bytes.get(), carry_.size());
    block.size = have + read_fully(input_, block.bytes.get() + have, capacity - have);
    if (block.size < capacity) {
      ended_ = true;
      if (block.size > 0 && block.bytes[block.size - 1] != '\n') block.bytes[block.size++] = '\n';
      return;
    }
    size_t whole = whole_records(block.text(), rule_);
    carry_.assign(block.text().substr(whole));
    if (whole > 0) {
      block.size = whole;
      return;
    }
    if (capacity > kLongestRecord)
      throw LongRecord(
          fmt::format("a record is longer than {} MiB: is this a text file?", kLongestRecord >> 20));
  }
}

}  // namespace selfnorm

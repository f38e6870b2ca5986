// Numbers of words, four bytes each, in a file without a name: it goes with the process, however that ends.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace selfnorm {

class TokenFile {
 public:
  // In this folder. Every call throws Error naming it and the system's reason (disk full, ...).
  explicit TokenFile(std::string folder);
  ~TokenFile();
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  void append(uint32_t token) {
    buffer_.push_back(token);
    if (buffer_.size() == kBufferTokens) flush();
  }
  // Every token t becomes number[t].
  void renumber(std::span<const uint32_t> number);
  // All of them, mapped; nothing is appended any more. Valid as long as this object.
  std::span<const uint32_t> tokens();

 private:
  static constexpr size_t kBufferTokens = size_t{1} << 16;

  void flush();
  [[noreturn]] void fail(const char* action) const;

  std::string folder_;
  int descriptor_ = -1;
  uint64_t size_ = 0;  // tokens in the file
  std::vector<uint32_t> buffer_;
  void* map_ = nullptr;
};

}  // namespace selfnorm

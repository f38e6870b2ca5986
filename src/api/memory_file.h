// Text in memory as a file that readers can open.
#pragma once

#include <string>
#include <string_view>

namespace selfnorm {

class MemoryFile {
 public:
  MemoryFile(const char* name, std::string_view text);  // throws Error when there is no memory
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const;

 private:
  int descriptor_;
};

}  // namespace selfnorm

// Text in memory as a file that readers can open.
#pragma once

#include <string>
#include <string_view>

#include "selfnorm/error.h"

namespace selfnorm {

class MemoryFile {
 public:
  MemoryFile(const char* name, std::string_view text);  // throws Error when there is no memory
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const;
  // What `read` makes of the path; errors name the text as it is called.
  template <class Read>
  auto read_by(const Read& read) const {
    try {
      return read(path());
    } catch (const Error& error) {
      throw Error(named(error.what()));
    }
  }

 private:
  std::string named(std::string text) const;

  std::string name_;
  int descriptor_;
};

}  // namespace selfnorm

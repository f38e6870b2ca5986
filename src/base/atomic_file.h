// A file that appears whole or not at all: written beside its target, synced, renamed over it, directory
// synced. A symbolic link stays one: its target is replaced. Devices, pipes and directories are refused.
#pragma once

#include <string>
#include <string_view>

namespace selfnorm {

class AtomicFile {
 public:
  explicit AtomicFile(std::string path);  // opens PATH.tmp-PID-N in the same directory
  ~AtomicFile();                          // without commit(), removes it and leaves PATH as it was
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Each throws Error with the path and the system's reason (disk full, read-only directory, ...).
  void write(std::string_view bytes);
  void commit();
  static void write_file(const std::string& path, std::string_view bytes);  // all of it

 private:
  void flush();
  void put(std::string_view bytes);
  [[noreturn]] void fail(const char* action) const;

  std::string path_;    // as given
  std::string target_;  // with symbolic links followed
  std::string temporary_;
  std::string buffer_;
  int descriptor_ = -1;
};

// Unlinks what this process has begun to write and not committed: for a signal handler that ends it.
void remove_unfinished_files() noexcept;

}  // namespace selfnorm

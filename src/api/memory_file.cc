#include "api/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/failure.h"

namespace selfnorm {

MemoryFile::MemoryFile(const char* name, std::string_view text)
    : name_(name), descriptor_(memfd_create(name, MFD_CLOEXEC)) {
  while (descriptor_ >= 0 && !text.empty()) {
    const ssize_t written = write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    text.remove_prefix(static_cast<size_t>(written));
  }
  if (descriptor_ >= 0 && text.empty()) return;
  if (descriptor_ >= 0) close(descriptor_);
  throw_error("no memory for {}", name);
}

MemoryFile::~MemoryFile() { close(descriptor_); }

std::string MemoryFile::path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

std::string MemoryFile::named(std::string text) const {
  const std::string mine = path();
  if (const size_t at = text.find(mine); at != std::string::npos) text.replace(at, mine.size(), name_);
  return text;
}

}  // namespace selfnorm

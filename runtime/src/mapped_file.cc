#include "selfnorm/runtime/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "selfnorm/runtime/file_error.h"

namespace selfnorm::runtime {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

[[noreturn]] void throw_failure(const std::string& path, const char* action) {
  const int code = errno;
  throw IoError(path + ": cannot " + action + ": " + std::system_category().message(code));
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  // O_NONBLOCK: a FIFO is refused below instead of waiting for a writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) throw_failure(path, "open");
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) throw_failure(path, "read its size");
  if (!S_ISREG(status.st_mode)) throw IoError(path + ": expected a regular file");
  if (status.st_size == 0) return;
  size_ = static_cast<size_t>(status.st_size);
  void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (address == MAP_FAILED) throw_failure(path, "map");
  ::madvise(address, size_, MADV_RANDOM);
  data_ = static_cast<const std::byte*>(address);
}

void MappedFile::expect_scan() const {
  if (data_ != nullptr) ::madvise(const_cast<std::byte*>(data_), size_, MADV_NORMAL);
}

void MappedFile::release(std::span<const std::byte> part) const {
  if (part.empty()) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const size_t before = reinterpret_cast<uintptr_t>(part.data()) % page;  // from the start of its page
  ::madvise(const_cast<std::byte*>(part.data()) - before, before + part.size(), MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace selfnorm::runtime

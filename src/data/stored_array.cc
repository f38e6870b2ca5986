#include "data/stored_array.h"

#define XXH_INLINE_ALL
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "base/failure.h"

namespace selfnorm {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr uint64_t kScattered = 1u << 14;  // bytes that one look counts as at least: pages come in runs
constexpr uint64_t kBetweenLooks = 1u << 20;

// Without a name, which stays empty; where the file system has no such files, with one.
int open_nameless(const std::string& folder, std::string& name) {
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);
  if (descriptor >= 0) return descriptor;
  name = folder + "/.array-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named < 0)
    name.clear();
  else
    ::fchmod(named, 0644);
  return named;
}

// What is mapped, so that all of it can be given back together.
struct Mapped {
  std::mutex mutex;
  std::map<const std::byte*, size_t> parts;
};
Mapped& mapped() {
  static Mapped all;
  return all;
}

std::atomic<uint64_t> resident_limit{kResidentBytes}, read_since_look{0}, resident_at_least{0};

// Pages of files in the memory of this process, in bytes.
uint64_t resident_pages_of_files() {
  uint64_t size = 0, resident = 0, shared = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
    const int found = std::fscanf(file, "%lu %lu %lu", &size, &resident, &shared);
    std::fclose(file);
    if (found != 3) shared = 0;
  }
  return shared * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

NumberFile::NumberFile(std::string folder)
    : folder_(std::move(folder)), descriptor_(open_nameless(folder_, name_)) {
  if (descriptor_ < 0) fail("make");
  buffer_.reserve(kBufferBytes);
}

std::shared_ptr<NumberFile> NumberFile::open(const std::string& path, std::string folder) {
  std::shared_ptr<NumberFile> out(new NumberFile);
  out->folder_ = std::move(folder);
  out->descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (out->descriptor_ < 0 || ::fstat(out->descriptor_, &status) != 0)
    throw_error("cannot read {}: {}", path, std::strerror(errno));
  out->size_ = static_cast<uint64_t>(status.st_size);
  out->is_sealed_ = true;
  out->map();
  return out;
}

NumberFile::~NumberFile() {
  if (map_ != nullptr) {
    const std::lock_guard lock(mapped().mutex);
    mapped().parts.erase(map_);
    ::munmap(const_cast<std::byte*>(map_), size_);
  }
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!name_.empty()) ::unlink(name_.c_str());
}

void NumberFile::append(const void* bytes, size_t size) {
  SELFNORM_CHECK(!is_sealed_);
  const auto* from = static_cast<const std::byte*>(bytes);
  for (size_t done = 0; done < size;) {
    const size_t n = std::min(size - done, kBufferBytes - buffer_.size());
    buffer_.insert(buffer_.end(), from + done, from + done + n);
    done += n;
    if (buffer_.size() == kBufferBytes) flush();
  }
}

void NumberFile::flush() {
  for (size_t done = 0; done < buffer_.size();) {
    const ssize_t n =
        ::pwrite(descriptor_, buffer_.data() + done, buffer_.size() - done, static_cast<off_t>(size_ + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("write");
    done += static_cast<size_t>(n);
  }
  size_ += buffer_.size();
  buffer_.clear();
}

void NumberFile::seal() {
  if (is_sealed_) return;
  flush();
  buffer_.shrink_to_fit();
  is_sealed_ = true;
  map();
}

void NumberFile::map() {
  if (size_ == 0) return;
  void* const place = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor_, 0);
  if (place == MAP_FAILED) fail("map");
  ::madvise(place, size_, MADV_NOHUGEPAGE);  // one look at a number is not to map two megabytes
  map_ = static_cast<const std::byte*>(place);
  const std::lock_guard lock(mapped().mutex);
  mapped().parts[map_] = size_;
}

void NumberFile::sync() const {
  SELFNORM_CHECK(is_sealed_);
  if (::fsync(descriptor_) != 0) fail("write");
}

void NumberFile::link(const std::string& path) {
  SELFNORM_CHECK(is_sealed_);
  if (name_.empty()) {
    const std::string own = fmt::format("/proc/self/fd/{}", descriptor_);
    if (::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0) fail("keep");
    return;
  }
  errno = EEXIST;
  if (::access(path.c_str(), F_OK) == 0 || ::rename(name_.c_str(), path.c_str()) != 0) fail("keep");
  name_.clear();
}

std::string NumberFile::digest() const {
  SELFNORM_CHECK(is_sealed_);
  XXH3_state_t* const state = XXH3_createState();
  XXH3_64bits_reset(state);
  for (uint64_t done = 0; done < size_;) {
    const size_t n = std::min<uint64_t>(kBufferBytes, size_ - done);
    XXH3_64bits_update(state, map_ + done, n);
    was_read(n);
    done += n;
  }
  const uint64_t value = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return fmt::format("{:016x}", value);
}

void NumberFile::was_read(uint64_t bytes) {
  const uint64_t counted = std::max(bytes, kScattered);
  if (read_since_look.fetch_add(counted, std::memory_order_relaxed) + counted < kBetweenLooks) return;
  read_since_look = 0;
  if (resident_pages_of_files() < resident_at_least + resident_limit) return;
  const std::lock_guard lock(mapped().mutex);
  for (const auto& [place, size] : mapped().parts)
    ::madvise(const_cast<std::byte*>(place), size, MADV_DONTNEED);
  resident_at_least = resident_pages_of_files();  // of programs, models and other files
}

void NumberFile::limit_resident(uint64_t bytes) { resident_limit = bytes > 0 ? bytes : kResidentBytes; }

void NumberFile::fail(const char* action) const {
  const int reason = errno;
  const std::string message =
      fmt::format("cannot {} a file of data in {}: {}", action, folder_, std::strerror(reason));
  if (reason == ENOSPC || reason == EDQUOT) throw DiskFull(message);
  throw Error(message);
}

}  // namespace selfnorm

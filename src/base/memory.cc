#include "base/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <utility>

#include "base/failure.h"

namespace selfnorm {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// The number after `word` in a file of lines "word number"; without a word the first one.
std::optional<uint64_t> number_in(const char* path, const std::string& word = "") {
  std::ifstream file(path);
  uint64_t value = 0;
  for (std::string found; !word.empty() && file >> found;)
    if (found == word) break;
  return file >> value ? std::optional(value) : std::nullopt;
}

// Pages of files count as used by the group and are given back when memory is wanted.
uint64_t control_group_rest() {
  const auto most = number_in("/sys/fs/cgroup/memory.max");  // "max": no limit
  if (!most) return kNoLimit;
  const uint64_t used = number_in("/sys/fs/cgroup/memory.current").value_or(0),
                 pages = number_in("/sys/fs/cgroup/memory.stat", "inactive_file").value_or(0) +
                         number_in("/sys/fs/cgroup/memory.stat", "active_file").value_or(0);
  const uint64_t held = used - std::min(used, pages);
  return *most - std::min(*most, held);
}

uint64_t machine_rest() {
  if (const auto available = number_in("/proc/meminfo", "MemAvailable:")) return *available * 1024;
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : kNoLimit;
}

}  // namespace

uint64_t memory_limit() {
  uint64_t limit = std::min(machine_rest(), control_group_rest());
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    limit = std::min<uint64_t>(limit, space.rlim_cur);
  return limit;
}

void require_memory(double bytes, const std::string& what, const std::string& advice) {
  const double limit = static_cast<double>(memory_limit());
  if (bytes <= limit) return;
  throw_error("not enough memory: {} need {:.1f} GB, but there are {:.1f} GB; {}", what, bytes / 1e9,
              limit / 1e9, advice);
}

void SetAside::forget() {
  if (map_ != nullptr) munmap(const_cast<float*>(std::exchange(map_, nullptr)), size_ * sizeof(float));
  if (file_ >= 0) close(std::exchange(file_, -1));
  size_ = 0;
  here_ = {};
}

void SetAside::resize(size_t size) {
  if (size == size_) return;
  forget();
  size_ = size;
  const auto bytes = static_cast<off_t>(size * sizeof(float));
  if (size > 0 && !folder_.empty()) {
    std::string name = folder_ + "/.aside-XXXXXX";
    file_ = mkostemp(name.data(), O_CLOEXEC);
    if (file_ >= 0) unlink(name.c_str());
    if (file_ >= 0 && posix_fallocate(file_, 0, bytes) == 0) return;
    if (file_ >= 0) close(std::exchange(file_, -1));
  }
  here_.resize(size);
}

void SetAside::put(std::span<const float> values) {
  resize(values.size());
  write(0, values);
}

void SetAside::write(size_t at, std::span<const float> values) {
  SELFNORM_CHECK(at + values.size() <= size_);
  if (file_ < 0) {
    std::ranges::copy(values, here_.begin() + static_cast<std::ptrdiff_t>(at));
    return;
  }
  const std::span<const std::byte> bytes = std::as_bytes(values);
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = pwrite(file_, bytes.data() + done, bytes.size() - done,
                             static_cast<off_t>(at * sizeof(float) + done));
    if (n < 0 && errno != EINTR)
      throw_error("cannot write a nameless file in {}: {}", folder_, std::strerror(errno));
    done += n < 0 ? 0 : static_cast<size_t>(n);
  }
}

void SetAside::get(std::span<float> values) const {
  SELFNORM_CHECK(values.size() == size_);
  if (file_ < 0) {
    std::ranges::copy(here_, values.begin());
    return;
  }
  const std::span<std::byte> bytes = std::as_writable_bytes(values);
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = pread(file_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (n == 0 || (n < 0 && errno != EINTR))
      throw_error("cannot read a nameless file in {}: {}", folder_, std::strerror(errno));
    done += n < 0 ? 0 : static_cast<size_t>(n);
  }
}

std::span<const float> SetAside::values() const {
  if (file_ < 0) return here_;
  if (map_ == nullptr) {
    void* address = mmap(nullptr, size_ * sizeof(float), PROT_READ, MAP_SHARED, file_, 0);
    if (address == MAP_FAILED)
      throw_error("cannot map a nameless file in {}: {}", folder_, std::strerror(errno));
    map_ = static_cast<const float*>(address);
  }
  return {map_, size_};
}

void SetAside::release(std::span<const std::byte> piece) const {
  if (map_ == nullptr) return;
  const std::span<const std::byte> all = std::as_bytes(std::span(map_, size_));
  const std::byte *begin = std::max(piece.data(), all.data()),
                  *end = std::min(piece.data() + piece.size(), all.data() + all.size());
  if (begin >= end) return;
  begin -= reinterpret_cast<uintptr_t>(begin) % static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  madvise(const_cast<std::byte*>(begin), static_cast<size_t>(end - begin), MADV_DONTNEED);
}

}  // namespace selfnorm

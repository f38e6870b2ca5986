#include "base/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

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

}  // namespace selfnorm

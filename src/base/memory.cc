#include "selfnorm/base/memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

uint64_t control_group_limit() {
  uint64_t bytes = 0;
  std::ifstream file("/sys/fs/cgroup/memory.max");
  return file >> bytes ? bytes : std::numeric_limits<uint64_t>::max();  // "max": no limit
}

}  // namespace

uint64_t memory_limit() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  uint64_t limit = std::numeric_limits<uint64_t>::max();
  if (pages > 0 && page > 0) limit = static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    limit = std::min<uint64_t>(limit, space.rlim_cur);
  return std::min(limit, control_group_limit());
}

void require_memory(double bytes, const std::string& what, const std::string& advice) {
  const double limit = static_cast<double>(memory_limit());
  if (bytes <= limit) return;
  throw Error(fmt::format("not enough memory: {} need {:.1f} GB, but there are {:.1f} GB; {}", what,
                          bytes / 1e9, limit / 1e9, advice));
}

}  // namespace selfnorm

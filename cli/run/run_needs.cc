#include "run/run_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/memory.h"
#include "math/parallel.h"
#include "run/progress_line.h"
#include "run/run_record.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

constexpr double kOperationsPerSecond = 3e8;  // of a thread, on the slow side
constexpr double kShort = 60;                 // seconds, below which time is not worth a word

std::string size_text(double bytes) {
  return bytes < 1e6   ? fmt::format("{:.0f} kB", std::max(1.0, bytes / 1e3))
         : bytes < 1e9 ? fmt::format("{:.0f} MB", bytes / 1e6)
                       : fmt::format("{:.1f} GB", bytes / 1e9);
}

// Where the run is or will be, with what files of its own will be replaced.
double free_disk(const RunDirectory& run) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(run.existing_folder(), error);
  if (error) return -1;
  double bytes = static_cast<double>(space.available);
  for (const char* name : {kCheckpointName, kModelName})
    if (const uintmax_t size = std::filesystem::file_size(run.file(name), error); !error)
      bytes += static_cast<double>(size);
  return bytes;
}

}  // namespace

std::string checked_needs(const Arguments& arguments, const RunDirectory& run, const RunNeeds& needs) {
  const auto refuse = [&](const std::string& kind, double needed, double found) {
    throw Error(fmt::format("not enough {}: {} need about {}, but there are {}; {}, or --force to try", kind,
                            needs.what, size_text(needed), size_text(found), needs.advice));
  };
  // A checkpoint is written beside the one it replaces, the model beside the last one.
  const double disk = needs.checkpoint + std::max(needs.checkpoint, needs.model);
  if (!arguments.run().force) {
    const double memory = static_cast<double>(memory_limit()), space = free_disk(run);
    if (needs.memory > memory) refuse("memory", needs.memory, memory);
    if (space >= 0 && disk > space) refuse("disk space for " + run.path(), disk, space);
  }
  const double seconds = needs.operations / (kOperationsPerSecond * static_cast<double>(allowed_threads()));
  return fmt::format(
      "needs about {} of memory and, while it runs, {} of disk (a checkpoint is {}, the model {}){}",
      size_text(needs.memory), size_text(disk), size_text(needs.checkpoint), size_text(needs.model),
      seconds < kShort ? "" : fmt::format("; takes at most about {}", clock_text(seconds)));
}

void refuse_doubtful(const RunArguments& given, const std::string& doubt) {
  if (doubt.empty() || given.force) return;
  throw Error(fmt::format("{}: {}; if it is meant, --force trains", given.train, doubt));
}

}  // namespace selfnorm::cli

#include "selfnorm/train/pace.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

double between(std::chrono::steady_clock::time_point a, std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

Pace::Pace(const CheckpointOptions& options, std::string fingerprint, TrainObserver& observer)
    : options_(options), fingerprint_(std::move(fingerprint)), observer_(observer) {}

double Pace::seconds() const { return earlier_seconds_ + between(start_, Clock::now()); }

bool Pace::resumes(Checkpoint& checkpoint) {
  if (!options_.resume || options_.path.empty() || !std::filesystem::exists(options_.path)) return false;
  checkpoint = Checkpoint::load(options_.path);
  if (checkpoint.text("fingerprint") != fingerprint_) {
    throw Error(fmt::format(
        "{}: the checkpoint was made with other data or options; repeat the command that made it, or "
        "start again without --resume",
        options_.path));
  }
  earlier_seconds_ = checkpoint.number("seconds");
  return true;
}

void Pace::checkpoint(bool now, const std::function<void(Checkpoint&)>& fill) {
  if (options_.path.empty()) return;
  const Clock::time_point begin = Clock::now();
  const double wait = options_.seconds == 0 ? 0 : std::max(options_.seconds, 10 * write_seconds_);
  if (!now && between(written_, begin) < wait) return;
  Checkpoint checkpoint;
  fill(checkpoint);
  checkpoint.set("fingerprint", fingerprint_);
  checkpoint.set("seconds", seconds());
  try {
    checkpoint.save(options_.path);
    is_failing_ = false;
  } catch (const Error& error) {
    if (!std::exchange(is_failing_, true))
      observer_.on_warning(
          fmt::format("no checkpoint: {}; training goes on, and it will be tried again", error.what()));
  }
  written_ = Clock::now();
  write_seconds_ = between(begin, written_);
}

}  // namespace selfnorm

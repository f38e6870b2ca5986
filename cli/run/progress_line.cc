#include "run/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "output.h"

namespace selfnorm::cli {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr double kPlainSeconds = 5.0;
constexpr size_t kBarWidth = 20;

std::string numbers(const Progress& p) {
  std::string text = p.nll && p.log_z_rms ? fmt::format("nll {:.4f}  penalty {:.4f}  rms log Z {:.4f}",
                                                        *p.nll, p.penalty, *p.log_z_rms)
                                          : fmt::format("loss {:.4f}", p.loss);
  if (p.log_normalizer) text += fmt::format("  b {:.4f}", *p.log_normalizer);
  if (p.log_ratio) text += fmt::format("  log r {:.4f}", *p.log_ratio);
  if (p.effective_samples) text += fmt::format("  effective samples {:.1f}", *p.effective_samples);
  if (p.nll_estimate) text += fmt::format("  nll estimate {:.4f}", *p.nll_estimate);
  if (p.valid_nll_estimate) text += fmt::format("  valid nll estimate {:.4f}", *p.valid_nll_estimate);
  if (p.valid_nll) text += fmt::format("  valid nll {:.4f}", *p.valid_nll);
  return text;
}

}  // namespace

std::string clock_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e8) return "?";
  const auto s = static_cast<uint64_t>(std::lround(seconds));
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                   : fmt::format("{}:{:02}", s / 60, s % 60);
}

ProgressLine::ProgressLine(bool quiet) : quiet_(quiet), is_terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(const Progress& p) { show({p.step, p.steps, numbers(p), true, true}); }

void ProgressLine::show(const State& state) {
  if (quiet_) return;
  const auto now = Clock::now();
  if (!is_started_ || state.done < first_) {
    is_started_ = true;
    first_ = state.done;
    start_ = now;
    last_ = now;
    if (!is_terminal_ && !state.is_announced) return;  // short work stays silent in a log
  } else {
    const std::chrono::duration<double> since = now - last_;
    if (since.count() < (is_terminal_ ? kRedrawSeconds : kPlainSeconds)) return;
  }
  last_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double done = static_cast<double>(state.done - first_);
  const double left = static_cast<double>(state.total - std::min(state.total, state.done));
  std::string eta;
  if (done > 0)
    eta = fmt::format("  ETA {}{}", state.is_bound ? "<= " : "", clock_text(elapsed / done * left));
  if (!is_terminal_) {
    note(fmt::format("step {}/{}  {}{}", state.done, state.total, state.text, eta));
    return;
  }
  const double fraction =
      state.total > 0 ? std::min(1.0, static_cast<double>(state.done) / static_cast<double>(state.total)) : 0;
  const auto filled = static_cast<size_t>(fraction * static_cast<double>(kBarWidth));
  put_on_stderr(fmt::format("\r\033[K[{}{}] {}/{}  {}{}", std::string(filled, '#'),
                            std::string(kBarWidth - filled, '.'), state.done, state.total, state.text, eta));
  is_drawn_ = true;
}

void ProgressLine::finish() {
  if (is_drawn_) put_on_stderr("\n");
  is_drawn_ = false;
  is_started_ = false;
}

}  // namespace selfnorm::cli

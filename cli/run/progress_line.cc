#include "run/progress_line.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>

#include "base/atomic_file.h"
#include "base/failure.h"
#include "base/json_text.h"
#include "output.h"

namespace selfnorm::cli {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr double kPlainSeconds = 5.0;
constexpr size_t kBarWidth = 20;

// What training computes with, for those who look inside.
std::string internals(const Progress& p) {
  std::string text = fmt::format("  loss {:.4f}", p.loss);
  if (p.nll && p.log_z_rms)
    text += fmt::format("  penalty {:.4f}  rms log Z {:.4f}", p.penalty, *p.log_z_rms);
  if (p.log_normalizer) text += fmt::format("  b {:.4f}", *p.log_normalizer);
  if (p.log_ratio) text += fmt::format("  log r {:.4f}", *p.log_ratio);
  if (p.effective_samples) text += fmt::format("  effective samples {:.1f}", *p.effective_samples);
  return text;
}

[[noreturn]] void fail_metrics(const std::string& path) {
  throw_error("cannot write {}: {}", path, std::strerror(errno));
}

}  // namespace

std::string clock_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e8) return "?";
  const auto s = static_cast<uint64_t>(std::lround(seconds));
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                   : fmt::format("{}:{:02}", s / 60, s % 60);
}

ProgressLine::ProgressLine(bool quiet, Unit unit, bool verbose)
    : quiet_(quiet), unit_(unit), is_verbose_(verbose), is_terminal_(isatty(STDERR_FILENO) == 1) {}

std::string ProgressLine::measured(double nll) const {
  return unit_ == Unit::perplexity ? fmt::format("perplexity {:.2f}", std::exp(nll))
                                   : fmt::format("NLL {:.4f}", nll);
}

void ProgressLine::show(const Progress& p) {
  if (const std::optional<double> held_out = p.valid_nll ? p.valid_nll : p.valid_nll_estimate; held_out) {
    is_estimate_ = !p.valid_nll;
    held_out_ = *held_out;
    best_ = std::min(best_, held_out_);
  }
  const std::optional<double> nll = p.nll ? p.nll : p.nll_estimate;
  std::string text = nll ? measured(*nll) : fmt::format("loss {:.4f}", p.loss);
  if (std::isfinite(best_))
    text +=
        fmt::format("  held-out {}{} (best {})", measured(held_out_), is_estimate_ ? " by an estimate" : "",
                    measured(best_).substr(measured(best_).rfind(' ') + 1));
  if (is_verbose_) text += internals(p);
  show({p.step, p.steps, text, true, true});
}

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

nlohmann::ordered_json progress_json(const Progress& p) {
  nlohmann::ordered_json line = {{"step", p.step}, {"epoch", p.epoch}, {"loss", p.loss}};
  const auto add = [&line](const char* name, const std::optional<double>& value) {
    if (value) line[name] = *value;
  };
  add("nll", p.nll);
  line["penalty"] = p.penalty;
  line["regulariser"] = p.regulariser;
  add("log_z_rms", p.log_z_rms);
  add("log_normalizer", p.log_normalizer);
  add("log_ratio", p.log_ratio);
  add("effective_samples", p.effective_samples);
  line["gradient_norm"] = p.gradient_norm;
  line["alpha"] = p.alpha;
  line["seconds"] = p.seconds;
  add("valid_nll", p.valid_nll);
  add("valid_log_z_rms", p.valid_log_z_rms);
  add("nll_estimate", p.nll_estimate);
  add("valid_nll_estimate", p.valid_nll_estimate);
  return line;
}

MetricsLog::~MetricsLog() {
  if (file_ >= 0) close(file_);
}

void MetricsLog::open_before(const Progress& first) {
  const nlohmann::json wanted = progress_json(first);
  std::ifstream earlier(path_);
  std::vector<std::string> lines;
  std::optional<size_t> repeated;
  for (std::string line; std::getline(earlier, line); lines.push_back(line)) {
    const auto object = bounded_json<nlohmann::json>(line);
    if (!object.is_object()) break;  // cut short by a kill
    const auto is_same = [&](const char* key) { return object.value(key, nlohmann::json()) == wanted[key]; };
    if (is_same("step") && is_same("epoch") && is_same("alpha")) repeated = lines.size();
  }
  AtomicFile rewritten(path_);
  for (size_t i = 0; i < repeated.value_or(lines.size()); ++i) rewritten.write(lines[i] + "\n");
  rewritten.commit();
  file_ = open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) fail_metrics(path_);
}

void MetricsLog::append(const Progress& progress) {
  if (file_ < 0) open_before(progress);
  const std::string line = progress_json(progress).dump() + "\n";
  const off_t end = lseek(file_, 0, SEEK_END);
  const ssize_t written = write(file_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return;
  if (written >= 0) errno = ENOSPC;
  const int reason = errno;
  if (ftruncate(file_, end) == 0) errno = reason;
  fail_metrics(path_);
}

}  // namespace selfnorm::cli

#include "run/metrics_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include "base/atomic_file.h"
#include "base/json_text.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw Error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

}  // namespace

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
  if (file_ < 0) fail(path_);
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
  fail(path_);
}

}  // namespace selfnorm::cli

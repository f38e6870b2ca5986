#include "run/run_directory.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/atomic_file.h"
#include "base/failure.h"
#include "base/memory.h"
#include "document/document.h"
#include "engine/checkpoint.h"
#include "interruption.h"
#include "math/parallel.h"
#include "model/safetensors_writer.h"
#include "run/progress_line.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFiles[] = {kModelName, kModelIndexName, kRecordName, kMetricsName, kCheckpointName};
constexpr const char* kSetAside[] = {kRecordName, kMetricsName, kCheckpointName,
                                     kReportData, kAuditData,   kReportPage};

// access(2) says yes to root everywhere; only making a file tells.
void try_writing(const std::string& path) {
  const std::string probe = fmt::format("{}/.probe-{}", path, getpid());
  const int descriptor = open(probe.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor < 0) throw_error("cannot write in the output directory {}: {}", path, std::strerror(errno));
  close(descriptor);
  unlink(probe.c_str());
}

void make_folders(const std::string& path, std::vector<std::string>& made) {
  fs::path folder;
  for (const fs::path& part : fs::path(path)) {
    folder /= part;
    if (part.empty() || fs::is_directory(folder)) continue;
    std::error_code error;
    if (!fs::create_directory(folder, error) && !fs::is_directory(folder))
      throw_error("cannot create the output directory {}: {}", folder.string(),
                  error ? error.message() : "a file of that name exists");
    made.push_back(folder.string());
  }
}

void remove_folders(const std::vector<std::string>& made) {
  for (auto folder = made.rbegin(); folder != made.rend(); ++folder) rmdir(folder->c_str());
}

std::string replaced(const std::string& file) { return file + ".replaced"; }

// This process has written nothing yet: a file with its number is of another that had it.
bool is_dead(const std::string& process) {
  const long number = std::strtol(process.c_str(), nullptr, 10);
  return number == getpid() || (number > 0 && kill(static_cast<pid_t>(number), 0) != 0 && errno == ESRCH);
}

// What a killed process was writing: NAME.tmp-PID-N, and parts of a model.
void remove_unfinished(const std::string& path) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    const std::string file = entry.path().filename().string();
    for (const std::string name : {kModelName, kModelIndexName, kRecordName, kMetricsName, kCheckpointName,
                                   kReportData, kAuditData, kReportPage}) {
      const std::string start = name + ".tmp-";
      if (file.starts_with(start) && is_dead(file.substr(start.size()))) fs::remove(entry.path(), ignored);
    }
  }
  remove_unfinished_shards(path + "/" + kModelIndexName);
  remove_checkpoint_parts(path + "/" + kCheckpointName);
}

constexpr double kOperationsPerSecond = 3e8;  // of a thread, on the slow side
constexpr double kShort = 10;                 // seconds, below which time is not worth a word

std::string size_text(double bytes) {
  return bytes < 1e6   ? fmt::format("{:.0f} kB", std::max(1.0, bytes / 1e3))
         : bytes < 1e9 ? fmt::format("{:.0f} MB", bytes / 1e6)
                       : fmt::format("{:.1f} GB", bytes / 1e9);
}

// Where the run is or will be, with what files of its own will be replaced.
double free_disk(const RunDirectory& run) {
  std::error_code error;
  const fs::space_info space = fs::space(run.existing_folder(), error);
  if (error) return -1;
  double bytes = static_cast<double>(space.available);
  for (const char* name : {kCheckpointName, kModelName})
    if (const uintmax_t size = fs::file_size(run.file(name), error); !error)
      bytes += static_cast<double>(size);
  return bytes;
}

}  // namespace

std::string existing_folder_of(const std::string& path) {
  fs::path folder = path;
  std::error_code ignored;
  while (!folder.empty() && !fs::exists(folder, ignored) && folder != folder.parent_path())
    folder = folder.parent_path();
  if (folder.empty()) return ".";
  if (!fs::is_directory(folder, ignored))
    throw_error("cannot create the output directory {}: {} is not a directory", path, folder.string());
  return folder.string();
}

RunDirectory::RunDirectory(std::string path, Mode mode) : path_(std::move(path)), mode_(mode) {
  lock();
  if (!has(kRecordName)) restore_replaced();
  check_new();
  try_writing(existing_folder_of(path_));
  remove_unfinished(path_);
}

void RunDirectory::check_new() const {
  for (const char* name : kFiles) {
    if (mode_ != Mode::kNew || !has(name)) continue;
    throw_error(
        "{} already holds a run ({}); continue it with --resume, replace it with --overwrite, or give "
        "another --out",
        path_, name);
  }
  if (has(kModelIndexName) && !is_shard_index(file(kModelIndexName)))
    throw_error("{}: found the index of a model that selfnorm did not write; expected another --out",
                file(kModelIndexName));
}

// Nothing where there is no directory yet. File systems without locks go without.
void RunDirectory::lock() {
  if (lock_ >= 0) return;
  lock_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0 || flock(lock_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  close(std::exchange(lock_, -1));
  throw_error("{} is in use: another selfnorm trains there; wait for it, or give another --out", path_);
}

// Unlocked last: what is removed is ours.
RunDirectory::~RunDirectory() {
  if (lock_ >= 0) remove_unfinished_shards(file(kModelIndexName));
  if (is_interrupted()) suspend();
  if (!is_kept_ && !has(kCheckpointName)) {
    if (has_begun_ && mode_ != Mode::kResume) {
      for (const char* name : {kRecordName, kMetricsName, kCheckpointName}) unlink(file(name).c_str());
      restore_replaced();
    }
    if (has_begun_) remove_checkpoint_parts(file(kCheckpointName));
    remove_folders(made_);
  }
  if (lock_ >= 0) close(lock_);
}

void RunDirectory::restore_replaced() {
  for (const char* name : kSetAside) std::rename(replaced(file(name)).c_str(), file(name).c_str());
}

void RunDirectory::keep() {
  is_kept_ = true;
  for (const char* name : kSetAside) unlink(replaced(file(name)).c_str());
  remove_checkpoint_parts(file(kCheckpointName));
}

void RunDirectory::suspend() {
  if (has(kCheckpointName)) keep();
  is_kept_ = true;
}

void RunDirectory::keep_model(const std::string& written) const {
  if (written == file(kModelIndexName)) {
    unlink(file(kModelName).c_str());
  } else if (has(kModelIndexName)) {
    remove_model_shards(file(kModelIndexName));
  }
}

bool RunDirectory::is_complete() const {
  return (has(kModelName) || has(kModelIndexName)) && !has(kCheckpointName) && !has(replaced(kRecordName));
}

bool RunDirectory::has(const std::string& name) const {
  std::error_code ignored;
  return fs::exists(file(name), ignored);
}

void RunDirectory::begin(const Json& record) {
  make_folders(path_, made_);
  lock();
  check_new();  // another run may have come and gone while the data were read
  if (mode_ == Mode::kResume && has(kRecordName)) return;
  // After a kill what is set aside is the run before, and what stands in its place is worth nothing.
  const bool is_set_aside = has(replaced(kRecordName));
  has_begun_ = true;
  const bool replaces_run = is_set_aside || has(kRecordName);
  for (const char* name : kSetAside) {
    if (!has(name) || !replaces_run) continue;  // without a run they are somebody's own
    const int failed = is_set_aside ? unlink(file(name).c_str())
                                    : std::rename(file(name).c_str(), replaced(file(name)).c_str());
    if (failed != 0) throw_error("cannot replace {}: {}", file(name), std::strerror(errno));
  }
  AtomicFile::write_file(file(kRecordName),
                         record.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

std::string checked_needs(const Arguments& arguments, const RunDirectory& run, const RunNeeds& needs) {
  const auto refuse = [&](const std::string& kind, double needed, double found) {
    throw_error("not enough {}: {} need about {}, but there are {}; {}, or --force to try", kind, needs.what,
                size_text(needed), size_text(found), needs.advice);
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
  throw_error("{}: {}; if it is meant, --force trains", given.train, doubt);
}

}  // namespace selfnorm::cli

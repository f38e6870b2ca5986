#include "run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "selfnorm/base/atomic_file.h"
#include "selfnorm/base/error.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFiles[] = {kModelName, kRecordName, kMetricsName, kCheckpointName};

// access(2) says yes to root everywhere; only making a file tells.
void try_writing(const std::string& path) {
  const std::string probe = fmt::format("{}/.probe-{}", path, getpid());
  const int descriptor = open(probe.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    throw Error(fmt::format("cannot write in the output directory {}: {}", path, std::strerror(errno)));
  }
  close(descriptor);
  unlink(probe.c_str());
}

void make_folders(const std::string& path, std::vector<std::string>& made) {
  fs::path folder;
  for (const fs::path& part : fs::path(path)) {
    folder /= part;
    if (part.empty() || fs::is_directory(folder)) continue;
    std::error_code error;
    if (!fs::create_directory(folder, error) && !fs::is_directory(folder)) {
      throw Error(fmt::format("cannot create the output directory {}: {}", folder.string(),
                              error ? error.message() : "a file of that name exists"));
    }
    made.push_back(folder.string());
  }
}

void remove_folders(const std::vector<std::string>& made) {
  for (auto folder = made.rbegin(); folder != made.rend(); ++folder) rmdir(folder->c_str());
}

std::string replaced(const std::string& file) { return file + ".replaced"; }

// What a killed run was writing: NAME.tmp-PID-N.
void remove_unfinished(const std::string& path) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    for (const char* name : kFiles) {
      const std::string beginning = std::string(name) + ".tmp-";
      if (entry.path().filename().string().rfind(beginning, 0) == 0) fs::remove(entry.path(), ignored);
    }
  }
}

}  // namespace

RunDirectory::RunDirectory(std::string path, Mode mode) : path_(std::move(path)), mode_(mode) {
  if (mode == Mode::kNew) {
    for (const char* name : kFiles) {
      if (!has(name)) continue;
      throw Error(fmt::format(
          "{} already holds a run ({}); continue it with --resume, replace it with --overwrite, or give "
          "another --out",
          path_, name));
    }
  }
  try {
    make_folders(path_, made_);
    try_writing(path_);
  } catch (...) {
    remove_folders(made_);
    throw;
  }
  if (mode == Mode::kResume) remove_unfinished(path_);
}

RunDirectory::~RunDirectory() {
  if (is_kept_ || has(kCheckpointName)) return;
  if (has_begun_ && mode_ != Mode::kResume) {
    for (const char* name : kFiles) unlink(file(name).c_str());
    restore_replaced();
  }
  remove_folders(made_);
}

void RunDirectory::restore_replaced() {
  for (const char* name : kFiles) std::rename(replaced(file(name)).c_str(), file(name).c_str());
}

void RunDirectory::keep() {
  is_kept_ = true;
  for (const char* name : kFiles) unlink(replaced(file(name)).c_str());
}

bool RunDirectory::has(const std::string& name) const {
  std::error_code ignored;
  return fs::exists(file(name), ignored);
}

void RunDirectory::begin(const nlohmann::ordered_json& record) {
  if (mode_ == Mode::kResume && has(kRecordName)) return;
  has_begun_ = true;
  for (const char* name : kFiles) {
    if (has(name) && std::rename(file(name).c_str(), replaced(file(name)).c_str()) != 0) {
      throw Error(fmt::format("cannot replace {}: {}", file(name), std::strerror(errno)));
    }
  }
  AtomicFile output(file(kRecordName));
  output.write(record.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  output.commit();
}

}  // namespace selfnorm::cli

#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/failure.h"

namespace selfnorm {
namespace {

constexpr size_t kBufferBytes = 1u << 20;
constexpr int kMostLinks = 40;
std::atomic<uint64_t> serial{0};

// Where a signal handler finds the names of the files that are being written; what does not fit is not there.
std::array<std::atomic<const char*>, 64> unfinished{};

void replace_name(const char* from, const char* to) {
  for (auto& place : unfinished)
    if (const char* expected = from; place.compare_exchange_strong(expected, to)) return;
}

// The file that a symbolic link stands for, also when that file does not exist yet.
std::string link_target(const std::string& path) {
  std::filesystem::path target = path;
  std::error_code error;
  for (int i = 0; std::filesystem::is_symlink(target, error); ++i) {
    if (i == kMostLinks) throw_error("cannot write {}: too many symbolic links", path);
    target = target.parent_path() / std::filesystem::read_symlink(target, error);
  }
  return target.string();
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  struct stat status {};
  if (path_.empty()) throw Error("cannot write a file without a name");
  if (path_ == "-") throw Error("cannot write to standard output ('-'): expected the name of a file ('./-')");
  target_ = link_target(path_);
  if (stat(target_.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) throw_error("cannot write {}: it is a directory", path_);
    if (!S_ISREG(status.st_mode))
      throw_error("cannot write {}: it is a device, pipe or socket, expected a file", path_);
  }
  for (;;) {
    temporary_ = fmt::format("{}.tmp-{}-{}", target_, getpid(), serial++);
    replace_name(nullptr, temporary_.c_str());
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) break;
    replace_name(temporary_.c_str(), nullptr);
    if (errno != EEXIST) fail("create");  // else it was left by a killed process that had our number
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
  replace_name(temporary_.c_str(), nullptr);
}

void AtomicFile::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() < kBufferBytes) {
    buffer_.append(bytes);
    return;
  }
  flush();
  put(bytes);
}

void AtomicFile::flush() {
  put(buffer_);
  buffer_.clear();
}

void AtomicFile::put(std::string_view bytes) {
  for (size_t done = 0; done < bytes.size();) {
    ssize_t n = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write");
    done += static_cast<size_t>(n);
  }
}

void AtomicFile::commit() {
  SELFNORM_CHECK(descriptor_ >= 0);
  flush();
  if (fsync(descriptor_) != 0) fail("sync");
  if (rename(temporary_.c_str(), target_.c_str()) != 0) fail("rename");
  replace_name(temporary_.c_str(), nullptr);
  close(std::exchange(descriptor_, -1));
  std::string directory = std::filesystem::path(target_).parent_path().string();
  int folder = open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;  // a directory may be writable and yet unreadable; the file is in place
  int synced = fsync(folder);
  int reason = errno;
  close(folder);
  errno = reason;
  if (synced != 0 && reason != EINVAL) fail("sync the directory of");
}

void AtomicFile::write_file(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void AtomicFile::fail(const char* action) const {
  throw_error("cannot {} {}: {}", action, path_, std::strerror(errno));
}

void remove_unfinished_files() noexcept {
  for (auto& place : unfinished)
    if (const char* name = place.exchange(nullptr)) unlink(name);
}

}  // namespace selfnorm

#include "token_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

// Where the file system knows no nameless files, one whose name is taken away at once.
int open_nameless(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0) return descriptor;
  std::string name = folder + "/.tokens-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

// All n bytes by calls of pread or pwrite, which may do a part or be interrupted.
template <class Call>
bool transfer(size_t n, const Call& call) {
  for (size_t done = 0; done < n;) {
    const ssize_t more = call(done, n - done);
    if (more == 0) return false;
    if (more < 0 && errno != EINTR) return false;
    done += more > 0 ? static_cast<size_t>(more) : 0;
  }
  return true;
}

}  // namespace

TokenFile::TokenFile(std::string folder) : folder_(std::move(folder)), descriptor_(open_nameless(folder_)) {
  if (descriptor_ < 0) fail("make");
  buffer_.reserve(kBufferTokens);
}

TokenFile::~TokenFile() {
  if (map_ != nullptr) ::munmap(map_, size_ * sizeof(uint32_t));
  ::close(descriptor_);
}

void TokenFile::fail(const char* action) const {
  throw Error(fmt::format("cannot {} a file of tokens in {}: {}", action, folder_, std::strerror(errno)));
}

void TokenFile::flush() {
  const char* bytes = reinterpret_cast<const char*>(buffer_.data());
  const auto place = static_cast<off_t>(size_ * sizeof(uint32_t));
  const bool is_written = transfer(buffer_.size() * sizeof(uint32_t), [&](size_t done, size_t n) {
    return ::pwrite(descriptor_, bytes + done, n, place + static_cast<off_t>(done));
  });
  if (!is_written) fail("write");
  size_ += buffer_.size();
  buffer_.clear();
}

void TokenFile::renumber(std::span<const uint32_t> number) {
  flush();
  const uint64_t all = size_;
  for (size_ = 0; size_ < all;) {
    buffer_.resize(std::min<uint64_t>(kBufferTokens, all - size_));
    char* bytes = reinterpret_cast<char*>(buffer_.data());
    const auto place = static_cast<off_t>(size_ * sizeof(uint32_t));
    const bool is_read = transfer(buffer_.size() * sizeof(uint32_t), [&](size_t done, size_t n) {
      return ::pread(descriptor_, bytes + done, n, place + static_cast<off_t>(done));
    });
    if (!is_read) fail("read");
    for (uint32_t& token : buffer_) token = number[token];
    flush();
  }
}

std::span<const uint32_t> TokenFile::tokens() {
  if (map_ == nullptr) {
    flush();
    if (size_ == 0) return {};
    map_ = ::mmap(nullptr, size_ * sizeof(uint32_t), PROT_READ, MAP_SHARED, descriptor_, 0);
    if (map_ == MAP_FAILED) {
      map_ = nullptr;
      fail("map");
    }
  }
  return {static_cast<const uint32_t*>(map_), size_};
}

}  // namespace selfnorm

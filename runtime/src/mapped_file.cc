#include "selfnorm/runtime/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>

#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/json_cursor.h"
#include "selfnorm/runtime/safetensors.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm::runtime {
namespace {

struct Descriptor {
  int fd;
  explicit Descriptor(int number) : fd(number) {}
  Descriptor(Descriptor&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

[[noreturn]] void throw_failure(const std::string& path, const char* action) {
  const int code = errno;
  throw IoError(path + ": cannot " + action + ": " + std::system_category().message(code));
}

// A regular file, open and mapped as it is, whatever its name.
class Mapping {
 public:
  explicit Mapping(const std::string& path)
      // O_NONBLOCK: a FIFO is refused below instead of waiting for a writer.
      : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (file_.fd < 0) throw_failure(path, "open");
    struct stat status {};
    if (::fstat(file_.fd, &status) != 0) throw_failure(path, "read its size");
    if (!S_ISREG(status.st_mode)) throw IoError(path + ": expected a regular file");
    if (status.st_size == 0) return;
    size_ = static_cast<size_t>(status.st_size);
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file_.fd, 0);
    if (address == MAP_FAILED) throw_failure(path, "map");
    ::madvise(address, size_, MADV_RANDOM);
    data_ = static_cast<const std::byte*>(address);
  }
  Mapping(Mapping&& other) noexcept
      : file_(std::move(other.file_)), data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  Mapping(const Mapping&) = delete;
  ~Mapping() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  }

  int descriptor() const { return file_.fd; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::pair<const std::byte*, size_t> release() { return {std::exchange(data_, nullptr), size_}; }

 private:
  Descriptor file_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

struct ShardIndex {
  std::string header;
  uint64_t bytes = 0;                        // of tensors
  std::map<std::string, std::string> place;  // of a tensor: the file
};

ShardIndex parse_index(std::string_view text, const std::string& name) {
  ShardIndex out;
  bool has_header = false;
  JsonCursor json(text, name);
  const auto each_entry = [&json](const auto& take) {
    json.expect('{');
    if (json.accept('}')) return;
    do {
      const std::string key = json.string();
      json.expect(':');
      take(key);
    } while (json.accept(','));
    json.expect('}');
  };
  each_entry([&](const std::string& part) {
    if (part == "metadata") {
      each_entry([&](const std::string& key) {
        if (key == "total_size") {
          out.bytes = json.integer();
        } else {
          const std::string value = json.string();
          if (key == kShardHeader) {
            out.header = value;
            has_header = true;
          }
        }
      });
    } else if (part == "weight_map") {
      each_entry([&](const std::string& key) { out.place[key] = json.string(); });
    } else {
      json.fail("metadata or weight_map instead of \"" + shortened(part) + "\"");
    }
  });
  json.end();
  if (!has_header)
    throw FormatError(name + ": found no \"" + std::string(kShardHeader) +
                      "\" in the metadata; expected the index of a model that selfnorm wrote in shards");
  return out;
}

// Memory that pages of shards are mapped into.
class ShardImage {
 public:
  ShardImage(const std::string& name, const ShardIndex& index) : name_(name), index_(index) {
    const uint64_t length = index.header.size();
    if (length > kLargestHeader || index.bytes > uint64_t{1} << 62)
      throw FormatError(name + ": found a header of " + std::to_string(length) + " bytes for " +
                        std::to_string(index.bytes) + " bytes of tensors; the index is damaged");
    size_ = sizeof length + length + index.bytes;
    void* address =
        ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) throw_failure(name, "map");
    data_ = static_cast<std::byte*>(address);
    std::memcpy(data_, &length, sizeof length);
    std::memcpy(data_ + sizeof length, index.header.data(), length);
  }
  ~ShardImage() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  ShardImage(const ShardImage&) = delete;
  ShardImage& operator=(const ShardImage&) = delete;

  void fill() {
    const Safetensors whole = parse_safetensors({data_, size_}, name_);
    for (const Tensor& tensor : whole.tensors) {
      std::byte* to = const_cast<std::byte*>(tensor.data.data());
      uint64_t left = tensor.data.size();
      if (index_.place.contains(tensor.name)) {
        left -= take(tensor, tensor.name, to, left);
      } else {
        for (size_t part = 1; index_.place.contains(tensor.name + "." + std::to_string(part)); ++part) {
          const uint64_t taken = take(tensor, tensor.name + "." + std::to_string(part), to, left);
          to += taken;
          left -= taken;
        }
      }
      if (left > 0) fail(tensor.name, std::to_string(left) + " bytes less than its shape says");
    }
    ::mprotect(data_, size_, PROT_READ);
  }

  std::pair<const std::byte*, size_t> release() { return {std::exchange(data_, nullptr), size_}; }
  const std::vector<std::span<const std::byte>>& mapped() const { return mapped_; }

 private:
  struct Shard {
    Mapping map;
    Safetensors tensors;
  };

  [[noreturn]] void fail(const std::string& tensor, const std::string& what) const {
    throw FormatError(name_ + ": tensor \"" + shortened(tensor) + "\": found " + what +
                      "; the shards are not those of this index, or are damaged");
  }

  Shard& shard(const std::string& file) {
    if (const auto place = shards_.find(file); place != shards_.end()) return place->second;
    if (file.empty() || file.find('/') != std::string::npos)
      throw FormatError(name_ + ": found the shard \"" + shortened(file) +
                        "\"; expected the name of a file beside the index");
    const std::string path = name_.substr(0, name_.rfind('/') + 1) + file;
    Mapping map = opened(path);
    Safetensors tensors = parse_safetensors(map.bytes(), path);
    return shards_.emplace(file, Shard{std::move(map), std::move(tensors)}).first->second;
  }

  Mapping opened(const std::string& path) const {
    try {
      return Mapping(path);
    } catch (const IoError& error) {
      throw IoError(std::string(error.what()) + "; expected all files that " + name_ +
                    " names beside it: copy them there");
    }
  }

  // The bytes of a part of the tensor.
  uint64_t take(const Tensor& whole, const std::string& part, std::byte* to, uint64_t room) {
    Shard& from = shard(index_.place.find(part)->second);
    const Tensor* found = from.tensors.find(part);
    if (found == nullptr || found->dtype != whole.dtype)
      fail(part, "none of " + std::string(dtype_name(whole.dtype)) + " in its shard");
    const uint64_t size = found->data.size();
    if (size > room) fail(part, "more bytes than the whole has left");
    const auto begin = static_cast<uint64_t>(to - data_),
               source = static_cast<uint64_t>(found->data.data() - from.map.bytes().data());
    const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    uint64_t first = (begin + page - 1) / page * page, last = (begin + size) / page * page;
    if (begin % page != source % page || first >= last) first = last = begin + size;
    std::memcpy(to, found->data.data(), first - begin);
    std::memcpy(data_ + last, found->data.data() + (last - begin), begin + size - last);
    if (first == last) return size;
    if (::mmap(data_ + first, last - first, PROT_READ, MAP_PRIVATE | MAP_FIXED, from.map.descriptor(),
               static_cast<off_t>(source + first - begin)) == MAP_FAILED)
      throw_failure(name_, "map a shard");
    ::madvise(data_ + first, last - first, MADV_RANDOM);
    mapped_.emplace_back(data_ + first, last - first);
    return size;
  }

  std::string name_;
  std::vector<std::span<const std::byte>> mapped_;
  const ShardIndex& index_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::map<std::string, Shard> shards_;
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  if (path.ends_with(kShardIndexEnding))
    assemble(path);
  else
    std::tie(data_, size_) = Mapping(path).release();
}

void MappedFile::assemble(const std::string& path) {
  const Mapping file(path);
  const auto text = file.bytes();
  const ShardIndex index = parse_index({reinterpret_cast<const char*>(text.data()), text.size()}, path);
  ShardImage image(path, index);
  image.fill();
  shards_ = image.mapped();
  is_assembled_ = true;
  std::tie(data_, size_) = image.release();
}

void MappedFile::expect_scan() const {
  if (data_ != nullptr) ::madvise(const_cast<std::byte*>(data_), size_, MADV_NORMAL);
}

void MappedFile::release(std::span<const std::byte> part) const {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto drop = [&](std::span<const std::byte> of) {
    const std::byte *begin = std::max(part.data(), of.data()),
                    *end = std::min(part.data() + part.size(), of.data() + of.size());
    if (begin >= end) return;
    begin -= reinterpret_cast<uintptr_t>(begin) % page;  // whole pages: `of` begins with one
    ::madvise(const_cast<std::byte*>(begin), static_cast<size_t>(end - begin), MADV_DONTNEED);
  };
  if (!is_assembled_) return drop(bytes());
  for (const std::span<const std::byte> shard : shards_) drop(shard);
}

std::function<void(std::span<const std::byte>)> MappedFile::gives_back() const {
  constexpr size_t kLarge = size_t{1} << 28;
  if (size_ < kLarge) return {};
  return [this](std::span<const std::byte> part) { release(part); };
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      is_assembled_(other.is_assembled_),
      shards_(std::move(other.shards_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(is_assembled_, other.is_assembled_);
  std::swap(shards_, other.shards_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace selfnorm::runtime

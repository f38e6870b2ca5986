#include "data/input/source.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/failure.h"
#include "base/near_name.h"
#include "data/read.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/mapped_file.h"

namespace selfnorm {
namespace {

[[noreturn]] void fail(const std::string& name) {
  if (errno == EBADF) throw Error(name + " is closed; expected data there, or give the name of a file");
  if (errno == ENOENT || errno == ENOTDIR) throw_error("cannot read {}: {}", name, missing_text(name));
  throw_error("cannot read {}: {}", name, std::strerror(errno));
}

class Descriptor {
 public:
  Descriptor(std::string name, int number) : name_(std::move(name)), number_(number) {}
  ~Descriptor() {
    if (number_ > 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  template <class Call>
  size_t read(Call call) {
    for (;;) {
      ssize_t n = call(number_);
      if (n >= 0) return static_cast<size_t>(n);
      if (errno != EINTR) fail(name_);
    }
  }

 private:
  std::string name_;
  int number_;
};

class FileStorage : public Storage {
 public:
  FileStorage(const std::string& name, int number, uint64_t size)
      : name_(name), file_(name, number), size_(size) {}
  uint64_t size() const override { return size_; }
  size_t read_at(uint64_t offset, char* to, size_t n) override {
    return file_.read([&](int number) { return pread(number, to, n, static_cast<off_t>(offset)); });
  }
  std::span<const std::byte> bytes() override {
    if (!map_) {
      try {
        map_.emplace(name_);
      } catch (const runtime::IoError& error) {
        throw Error(error.what());
      }
      map_->expect_scan();
    }
    return map_->bytes();
  }
  void release(std::span<const std::byte> part) const override {
    if (map_) map_->release(part);
  }

 private:
  std::string name_;
  Descriptor file_;
  uint64_t size_;
  std::optional<runtime::MappedFile> map_;
};

class MemoryStorage : public Storage {
 public:
  explicit MemoryStorage(std::string_view bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  size_t read_at(uint64_t offset, char* to, size_t n) override {
    return offset < bytes_.size() ? bytes_.copy(to, n, offset) : 0;
  }
  std::span<const std::byte> bytes() override { return std::as_bytes(std::span(bytes_)); }

 private:
  std::string_view bytes_;
};

class OwnedStorage : public MemoryStorage {
 public:
  explicit OwnedStorage(std::unique_ptr<const std::string> bytes)
      : MemoryStorage(*bytes), owned_(std::move(bytes)) {}

 private:
  std::unique_ptr<const std::string> owned_;
};

class StorageSource : public ByteSource {
 public:
  StorageSource(std::shared_ptr<Storage> storage, uint64_t offset, uint64_t size)
      : storage_(std::move(storage)), offset_(offset), left_(size) {}
  size_t read(char* to, size_t n) override {
    n = storage_->read_at(offset_, to, static_cast<size_t>(std::min<uint64_t>(n, left_)));
    offset_ += n;
    left_ -= n;
    return n;
  }
  std::optional<uint64_t> remaining() const override { return left_; }

 private:
  std::shared_ptr<Storage> storage_;
  uint64_t offset_;
  uint64_t left_;
};

class PipeSource : public ByteSource {
 public:
  PipeSource(const std::string& name, int number) : file_(name, number) {}
  size_t read(char* to, size_t n) override {
    return file_.read([&](int number) { return ::read(number, to, n); });
  }

 private:
  Descriptor file_;
};

// Several inputs as one; each but the last ends with a line feed. Errors name the file and its line.
class JoinedSource : public ByteSource {
 public:
  JoinedSource(std::string name, const std::vector<std::string>& paths, Headers headers)
      : name_(std::move(name)) {
    for (const std::string& path : paths) {
      std::unique_ptr<Input> input = Input::open(path);
      if (!input->peek(1).empty()) inputs_.push_back(std::move(input));
    }
    if (headers == Headers::none || inputs_.empty()) return;
    header_ = shared_header();
    for (size_t i = 1; i < inputs_.size(); ++i) check_header(*inputs_[i]);
  }
  size_t read(char* to, size_t n) override {
    for (; n > 0 && at_ < inputs_.size(); ++at_, is_new_ = true) {
      if (is_new_) begin(*inputs_[at_]);
      is_new_ = false;
      if (const size_t got = inputs_[at_]->read(to, n); got > 0) {
        last_ = to[got - 1];
        lines_ += static_cast<uint64_t>(std::count(to, to + got, '\n'));
        return got;
      }
      if (last_ != '\n' && at_ + 1 < inputs_.size()) {
        *to = last_ = '\n';
        ++lines_;
        return 1;
      }
    }
    return 0;
  }

 private:
  static constexpr size_t kLongestHeader = size_t{1} << 16;
  static std::string first_line(Input& input) {
    std::string line(input.peek(kLongestHeader));
    if (line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    const size_t end = line.find('\n');
    return end == std::string::npos ? "" : line.substr(0, end + 1);
  }
  std::string shared_header() {
    const std::string first = first_line(*inputs_[0]);
    const std::vector<std::string> names = fields_of(first);
    const bool is_header =
        names.size() > 1 && !first.starts_with('{') && !std::ranges::any_of(names, is_number);
    const bool is_shared =
        std::ranges::all_of(inputs_, [&](const auto& input) { return first_line(*input) == first; });
    return is_header && is_shared ? first : "";
  }
  // Names that some files have in the first line and others in another order, or not at all.
  void check_header(Input& input) const {
    const std::vector<std::string> expected = fields_of(first_line(*inputs_[0])),
                                   found = fields_of(first_line(input));
    if (expected.size() < 2 || expected == found || std::ranges::any_of(expected, is_number)) return;
    if (std::ranges::is_permutation(expected, found))
      throw DataError(input.name(), 1,
                      fmt::format("found the columns in another order than in {}; expected the same header",
                                  inputs_[0]->name()));
    if (!header_.empty() || !std::ranges::any_of(inputs_, [&](const auto& other) {
          return other != inputs_[0] && fields_of(first_line(*other)) == expected;
        }))
      return;
    throw DataError(
        input.name(), 1,
        fmt::format("found no header such as that of {} and others; expected it in all files, or in "
                    "none",
                    inputs_[0]->name()));
  }
  void begin(Input& input) {
    uint64_t line = 1;
    if (at_ > 0) {
      input.skip_byte_order_mark();
      if (!header_.empty()) {
        input.skip(header_.size());
        line = 2;
      }
    }
    note_file_of(name_, lines_ + 1, input.name(), line);
  }
  static std::vector<std::string> fields_of(std::string_view line) {
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
    std::vector<std::string> out;
    for (size_t begin = 0; begin <= line.size();) {
      const size_t end = std::min(line.find_first_of(",;\t", begin), line.size());
      out.emplace_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
    return out;
  }
  static bool is_number(const std::string& field) {
    char* end = nullptr;
    std::strtod(field.c_str(), &end);
    return field.empty() || end == field.c_str() + field.size();
  }

  std::string name_;
  std::vector<std::unique_ptr<Input>> inputs_;
  std::string header_;
  uint64_t lines_ = 0;  // read
  size_t at_ = 0;
  bool is_new_ = true;
  char last_ = '\n';
};

constexpr size_t kInputBytes = 1u << 18;
constexpr int kGzip = 15 + 16;  // windowBits of inflateInit2
constexpr int kRaw = -15;

class InflateSource : public ByteSource {
 public:
  InflateSource(std::string name, std::string head, std::unique_ptr<ByteSource> compressed, int window_bits)
      : name_(std::move(name)),
        input_(std::move(head)),
        compressed_(std::move(compressed)),
        gzip_(window_bits == kGzip) {
    if (inflateInit2(&stream_, window_bits) != Z_OK) throw std::bad_alloc();
    point_at_input();
  }
  ~InflateSource() override { inflateEnd(&stream_); }
  InflateSource(const InflateSource&) = delete;
  InflateSource& operator=(const InflateSource&) = delete;

  size_t read(char* to, size_t n) override {
    n = std::min<size_t>(n, std::numeric_limits<uInt>::max());
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(n);
    while (n > 0 && stream_.avail_out == n && !finished_) {
      bool ended = !refill();
      const uInt input = stream_.avail_in, output = stream_.avail_out;
      int code = inflate(&stream_, Z_NO_FLUSH);
      taken_ += input - stream_.avail_in;
      given_ += output - stream_.avail_out;
      check_expansion(name_, taken_, given_);
      if (code == Z_STREAM_END) {
        end_member();
      } else if (code == Z_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        fail(fmt::format("the compressed data are damaged ({})", stream_.msg ? stream_.msg : "bad stream"));
      } else if (ended && stream_.avail_out == n) {
        fail("the compressed data end too early: the file is truncated");
      }
    }
    return n - stream_.avail_out;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw DataError(name_, 0, what); }

  void point_at_input() {
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(input_.size());
  }

  bool refill() {
    if (stream_.avail_in > 0) return true;
    input_.resize(kInputBytes);
    input_.resize(compressed_->read(input_.data(), kInputBytes));
    point_at_input();
    return stream_.avail_in > 0;
  }

  void end_member() {
    finished_ = !gzip_ || !refill();
    if (finished_) return;
    if (*stream_.next_in == 0x1f) {
      inflateReset(&stream_);
      return;
    }
    for (; refill(); stream_.avail_in = 0)
      if (std::any_of(stream_.next_in, stream_.next_in + stream_.avail_in, [](Bytef b) { return b != 0; }))
        fail("bytes that are not gzip follow the gzip data");
    finished_ = true;
  }

  std::string name_;
  std::string input_;
  std::unique_ptr<ByteSource> compressed_;
  z_stream stream_{};
  uint64_t taken_ = 0, given_ = 0;  // compressed bytes and others
  bool gzip_;
  bool finished_ = false;
};

}  // namespace

size_t read_fully(ByteSource& source, char* to, size_t n) {
  size_t done = 0;
  while (done < n) {
    size_t got = source.read(to + done, n - done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

std::unique_ptr<ByteSource> storage_source(std::shared_ptr<Storage> storage, uint64_t offset, uint64_t size) {
  return std::make_unique<StorageSource>(std::move(storage), offset, size);
}

std::shared_ptr<Storage> file_storage(const std::string& path) {
  auto storage = Input::open(path)->storage();
  if (!storage) throw_error("cannot read {}: expected a regular file, not compressed", path);
  return storage;
}

std::shared_ptr<Storage> memory_storage(std::span<const std::byte> bytes) {
  return std::make_shared<MemoryStorage>(
      std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

std::shared_ptr<Storage> owned_storage(std::string bytes) {
  return std::make_shared<OwnedStorage>(std::make_unique<const std::string>(std::move(bytes)));
}

std::vector<std::string> files_of_path(const std::string& path) {
  if (path.find('\n') != std::string::npos) {
    std::vector<std::string> all;
    for (size_t begin = 0; begin <= path.size();) {
      const size_t end = std::min(path.find('\n', begin), path.size());
      const auto some = files_of_path(path.substr(begin, end - begin));
      all.insert(all.end(), some.begin(), some.end());
      begin = end + 1;
    }
    return all;
  }
  if (path.find_first_of("*?") == std::string::npos || access(path.c_str(), F_OK) == 0) return {path};
  glob_t found{};
  const int code = glob(path.c_str(), GLOB_TILDE, nullptr, &found);
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + (code == 0 ? found.gl_pathc : 0));
  globfree(&found);
  if (files.empty())
    throw_error(
        "no file matches {}; expected the names of one or more data files, or a pattern that is true of some",
        path);
  return files;
}

std::string path_text(const std::string& path) {
  const auto others = std::ranges::count(path, '\n');
  return others == 0 ? path : fmt::format("{} and {} more", path.substr(0, path.find('\n')), others);
}

std::unique_ptr<Input> Input::from(std::string name, std::unique_ptr<ByteSource> source) {
  return std::unique_ptr<Input>(new Input(std::move(name), std::move(source), nullptr));
}

std::unique_ptr<Input> Input::open(const std::string& path, Headers headers) {
  if (const auto files = files_of_path(path); files.size() > 1)
    return from(path_text(path), std::make_unique<JoinedSource>(path_text(path), files, headers));
  else if (files[0] != path)
    return open(files[0]);
  bool standard = path == "-";
  std::string name = standard ? "standard input" : path;
  int number = standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (number < 0) fail(name);
  struct stat status {};
  if (fstat(number, &status) != 0) fail(name);
  if (S_ISDIR(status.st_mode)) {
    close(number);
    throw_error("cannot read {}: it is a directory, expected a data file; several files: '{}/*.csv'", name,
                name);
  }
  if (standard || !S_ISREG(status.st_mode))
    return std::unique_ptr<Input>(new Input(name, std::make_unique<PipeSource>(name, number), nullptr));
  auto storage = std::make_shared<FileStorage>(name, number, static_cast<uint64_t>(status.st_size));
  return std::unique_ptr<Input>(new Input(name, storage_source(storage, 0, storage->size()), storage));
}

std::unique_ptr<Input> Input::memory(const std::string& name, std::string_view bytes) {
  auto storage = std::make_shared<MemoryStorage>(bytes);
  return std::unique_ptr<Input>(new Input(name, storage_source(storage, 0, bytes.size()), storage));
}

Input::Input(std::string name, std::unique_ptr<ByteSource> raw, std::shared_ptr<Storage> storage)
    : name_(std::move(name)), source_(std::move(raw)), storage_(std::move(storage)) {
  if (peek(2) != "\x1f\x8b") return;
  storage_.reset();
  source_ = gzip_source(name_, std::move(ahead_), std::move(source_));
  ahead_.clear();
}

std::string_view Input::peek(size_t n) {
  ahead_.erase(0, taken_);
  taken_ = 0;
  size_t have = ahead_.size();
  if (have < n) {
    ahead_.resize(n);
    ahead_.resize(have + read_fully(*source_, ahead_.data() + have, n - have));
  }
  return std::string_view(ahead_).substr(0, n);
}

size_t Input::read(char* to, size_t n) {
  size_t got = ahead_.copy(to, n, taken_);
  taken_ += got;
  if (got == 0 && n > 0) got = source_->read(to, n);
  bytes_read_ += got;
  return got;
}

void Input::skip(size_t n) {
  std::string skipped(n, '\0');
  read_fully(*this, skipped.data(), n);
}

void Input::skip_byte_order_mark() {
  if (const std::string_view two = peek(2); two == "\xFF\xFE" || two == "\xFE\xFF")
    throw_at(name_, 0, "found UTF-16, expected UTF-8; convert it: iconv -f UTF-16 -t UTF-8 {} > utf8.txt",
             name_);
  if (peek(kByteOrderMark.size()) == kByteOrderMark) skip(kByteOrderMark.size());
}

std::string Input::read_rest() {
  std::string text, chunk(size_t{1} << 16, '\0');
  while (size_t n = read(chunk.data(), chunk.size())) text.append(chunk, 0, n);
  return text;
}

std::optional<uint64_t> Input::remaining() const {
  auto rest = source_->remaining();
  if (rest) *rest += ahead_.size() - taken_;
  return rest;
}

std::unique_ptr<ByteSource> gzip_source(std::string name, std::string head,
                                        std::unique_ptr<ByteSource> compressed) {
  return std::make_unique<InflateSource>(std::move(name), std::move(head), std::move(compressed), kGzip);
}

std::unique_ptr<ByteSource> deflate_source(std::string name, std::unique_ptr<ByteSource> compressed) {
  return std::make_unique<InflateSource>(std::move(name), std::string(), std::move(compressed), kRaw);
}

}  // namespace selfnorm

// Where bytes come from: a file, standard input or memory, possibly compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace selfnorm {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual size_t read(char* to, size_t n) = 0;  // 0 only at the end
  virtual std::optional<uint64_t> remaining() const { return std::nullopt; }
};

size_t read_fully(ByteSource& source, char* to, size_t n);  // less than n only at the end

// Bytes by position.
class Storage {
 public:
  virtual ~Storage() = default;
  virtual uint64_t size() const = 0;
  virtual size_t read_at(uint64_t offset, char* to, size_t n) = 0;
  virtual std::span<const std::byte> bytes() = 0;  // all of them; a file is mapped at the first call
  // This part of bytes() is not needed for now: a mapped file gives its memory back.
  virtual void release(std::span<const std::byte>) const {}
};

std::shared_ptr<Storage> file_storage(const std::string& path);             // of a regular file
std::shared_ptr<Storage> memory_storage(std::span<const std::byte> bytes);  // which must outlive it
std::shared_ptr<Storage> owned_storage(std::string bytes);

std::unique_ptr<ByteSource> storage_source(std::shared_ptr<Storage> storage, uint64_t offset, uint64_t size);

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // of UTF-8

// A path may stand for several files, read one after the other as one: names separated by line feeds, or a
// pattern with * or ? that is no file itself ("data/part-*.csv"), in the order of their names. Files of
// nothing are left out. Where they are tables, a first line of names that each of them begins with is their
// header and read once.
enum class Headers { shared, none };
std::vector<std::string> files_of_path(const std::string& path);  // throws Error where there is none
// Of several files: "a.csv and 2 more".
std::string path_text(const std::string& path);

// A named input after decompression, with a look ahead.
class Input : public ByteSource {
 public:
  static std::unique_ptr<Input> open(const std::string& path, Headers headers = Headers::shared);
  static std::unique_ptr<Input> memory(const std::string& name, std::string_view bytes);
  static std::unique_ptr<Input> from(std::string name, std::unique_ptr<ByteSource> source);

  const std::string& name() const { return name_; }
  std::shared_ptr<Storage> storage() const { return storage_; }  // null for pipes and compressed files
  uint64_t bytes_read() const { return bytes_read_; }

  std::string_view peek(size_t n);  // the next n bytes (fewer at the end) without taking them
  size_t read(char* to, size_t n) override;
  void skip(size_t n);
  void skip_byte_order_mark();  // where there is one
  std::string read_rest();
  std::optional<uint64_t> remaining() const override;

 private:
  Input(std::string name, std::unique_ptr<ByteSource> raw, std::shared_ptr<Storage> storage);

  std::string name_;
  std::unique_ptr<ByteSource> source_;
  std::shared_ptr<Storage> storage_;
  std::string ahead_;
  size_t taken_ = 0;  // of ahead_
  uint64_t bytes_read_ = 0;
};

// The bytes of a table, which may be read twice: mapped where they are a file, otherwise in memory.
class HeldTable {
 public:
  explicit HeldTable(Input& input) : name_(input.name()) {
    if (const auto storage = input.storage(); storage && input.bytes_read() == 0) {
      storage_ = storage;
      const auto bytes = storage->bytes();
      text_ = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    } else {
      rest_ = input.read_rest();
      text_ = rest_;
    }
  }
  std::string_view text() const { return text_; }
  std::unique_ptr<Input> open() const {
    auto input = Input::memory(name_, text_);
    input->skip_byte_order_mark();
    return input;
  }

 private:
  std::string name_, rest_;
  std::shared_ptr<Storage> storage_;
  std::string_view text_;
};

// Decompression (RFC 1950-1952); damaged or truncated data throw DataError.
// One or more gzip members, then nothing but zero padding; `head` precedes the bytes of `compressed`.
std::unique_ptr<ByteSource> gzip_source(std::string name, std::string head,
                                        std::unique_ptr<ByteSource> compressed);

// One raw deflate stream (a member of a zip archive).
std::unique_ptr<ByteSource> deflate_source(std::string name, std::unique_ptr<ByteSource> compressed);

}  // namespace selfnorm

// A regular file mapped read-only. Pages are read when they are touched, so opening costs the same whatever
// the size, and one at a time: without MADV_RANDOM one cold touch reads the device's whole read-ahead window,
// often megabytes. A file must not be truncated while it is mapped (replace it by rename, as selfnorm does).
//
// A model may be in several files: NAME.safetensors.index.json and the shards it names. Mapped, it is one
// safetensors file all the same, put together in memory of which the pages inside a shard's rows are the
// shard's own. The index is that of Hugging Face,
//     {"metadata": {"selfnorm.header": "...", "total_size": N}, "weight_map": {"bias.1": "FILE", ...}}
// with the header of the whole, N bytes of tensors. A tensor T of it is tensor T of a shard, or T.1, T.2, ...
// one after the other. Both begin their data with the weights, the shard at the same place of a page as the
// whole (kShardPage), so that they can be mapped; what stands elsewhere is copied.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace selfnorm::runtime {

inline constexpr std::string_view kShardIndexEnding = ".safetensors.index.json";
inline constexpr std::string_view kShardHeader = "selfnorm.header";
inline constexpr size_t kShardPage = 4096;

class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::string& path);  // throws IoError; of an index also FormatError
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // From now on the file is read through, not touched here and there: gives the kernel its read-ahead back.
  void expect_scan() const;

  // This part of bytes() is not needed for now: its pages stop counting as memory of the process, and are
  // read again when touched.
  void release(std::span<const std::byte> part) const;
  // release() for who reads a file of hundreds of MB from its beginning to its end; nothing for smaller ones.
  std::function<void(std::span<const std::byte>)> gives_back() const;

 private:
  void assemble(const std::string& index);

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  bool is_assembled_ = false;
  std::vector<std::span<const std::byte>> shards_;  // pages of it that are those of a file
};

}  // namespace selfnorm::runtime

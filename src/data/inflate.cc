#include "inflate.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "selfnorm/base/error.h"
#include "selfnorm/data/expansion.h"

namespace selfnorm {
namespace {

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

std::unique_ptr<ByteSource> gzip_source(std::string name, std::string head,
                                        std::unique_ptr<ByteSource> compressed) {
  return std::make_unique<InflateSource>(std::move(name), std::move(head), std::move(compressed), kGzip);
}

std::unique_ptr<ByteSource> deflate_source(std::string name, std::unique_ptr<ByteSource> compressed) {
  return std::make_unique<InflateSource>(std::move(name), std::string(), std::move(compressed), kRaw);
}

}  // namespace selfnorm

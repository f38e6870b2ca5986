#include <bit>

#include "base/failure.h"
#include "data/array/array.h"
#include "data/input/characters.h"

namespace selfnorm {
namespace {

constexpr size_t kLongestHeader = size_t{1} << 16;

class HeaderParser {
 public:
  HeaderParser(const std::string& name, const std::string& text)
      : name_(name), text_(text), p_(text_.c_str()) {}

  Array parse() {
    Array array;
    array.name = name_;
    bool type = false, order = false, shape = false;
    take('{');
    while (!next_is('}')) {
      std::string key = string();
      take(':');
      if (key == "descr" && !type) {
        array.descr = string();
        array.type = element_type(array.descr);
        type = true;
      } else if (key == "fortran_order" && !order) {
        array.fortran_order = boolean();
        order = true;
      } else if (key == "shape" && !shape) {
        array.shape = tuple();
        shape = true;
      } else {
        fail();
      }
      if (!next_is(',')) {
        take('}');
        break;
      }
    }
    if (!type || !order || !shape) fail();
    return array;
  }

 private:
  [[noreturn]] void fail() const {
    throw_at(name_, 0, "found the NPY header {}, expected 'descr', 'fortran_order' and 'shape'",
             quoted_text(text_));
  }

  void skip_blanks() {
    while (*p_ == ' ' || *p_ == '\n' || *p_ == '\t') ++p_;
  }

  bool next_is(char c) {
    skip_blanks();
    if (*p_ != c) return false;
    ++p_;
    return true;
  }

  void take(char c) {
    if (!next_is(c)) fail();
  }

  std::string string() {
    skip_blanks();
    char quote = *p_;
    if (quote != '\'' && quote != '"') fail();
    const char* begin = ++p_;
    while (*p_ != quote && *p_ != '\0') ++p_;
    if (*p_ == '\0') fail();
    return std::string(begin, p_++);
  }

  bool boolean() {
    skip_blanks();
    for (std::string_view word : {"True", "False"})
      if (std::string_view(p_).starts_with(word)) {
        p_ += word.size();
        return word == "True";
      }
    fail();
  }

  std::vector<uint64_t> tuple() {
    std::vector<uint64_t> numbers;
    take('(');
    while (!next_is(')')) {
      skip_blanks();
      uint64_t n = 0;
      const char* stop = parse_natural(p_, nullptr, n);
      if (!stop || numbers.size() == 32) fail();
      numbers.push_back(n);
      p_ = stop;
      if (!next_is(',')) {
        take(')');
        break;
      }
    }
    return numbers;
  }

  ElementType element_type(const std::string& code) const {
    auto unsupported = [&]() {
      throw_at(name_, 0,
               "found elements of type {}, expected f2, f4, f8, V2 (bfloat16), an integer, b1, S or U",
               quoted_text(code));
    };
    if (code.size() < 3 || std::string_view("<>|=").find(code[0]) == std::string_view::npos) unsupported();
    ElementType type;
    type.big_endian = code[0] == '>';
    const char* end = code.c_str() + code.size();
    if (parse_natural(code.c_str() + 2, end, type.size) != end || type.size == 0 || type.size > (1u << 20))
      unsupported();
    // In the order of ElementKind.
    const size_t kind = std::string_view("biufVSU").find(code[1]);
    if (kind == std::string_view::npos) unsupported();
    type.kind = static_cast<ElementKind>(kind);
    if (type.kind == ElementKind::unicode) type.size *= 4;
    const bool fits = type.kind == ElementKind::boolean  ? type.size == 1
                      : type.kind == ElementKind::bfloat ? type.size == 2
                      : type.kind == ElementKind::real   ? type.size == 2 || type.size == 4 || type.size == 8
                                                         : type.size <= 8 && std::has_single_bit(type.size);
    if (type.is_number() && !fits) unsupported();
    return type;
  }

  const std::string& name_;
  std::string text_;
  const char* p_;
};

}  // namespace

Array open_npy(const std::string& name, ByteSource& source) {
  unsigned char head[8];
  if (read_fully(source, reinterpret_cast<char*>(head), 8) < 8 ||
      std::string_view(reinterpret_cast<char*>(head), 6) != "\x93NUMPY")
    throw DataError(name, 0, "found no NPY magic bytes at the start, expected \\x93NUMPY");
  if (head[6] < 1 || head[6] > 3)
    throw_at(name, 0, "found NPY version {}.{}, expected 1.0 to 3.0", head[6], head[7]);
  unsigned char length[4] = {};
  size_t width = head[6] == 1 ? 2 : 4;
  size_t got = read_fully(source, reinterpret_cast<char*>(length), width);
  size_t size = length[0] | size_t{length[1]} << 8 | size_t{length[2]} << 16 | size_t{length[3]} << 24;
  if (got < width || size > kLongestHeader)
    throw_at(name, 0, "the NPY header declares {} bytes, expected at most {}", size, kLongestHeader);
  std::string text(size, '\0');
  if (read_fully(source, text.data(), size) < size)
    throw DataError(name, 0, "the file ends within the NPY header");
  Array array = HeaderParser(name, text).parse();
  array.payload = &source;
  return array;
}

std::string npy_header(const std::string& descr, std::span<const uint64_t> shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                 fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  text.append(63 - (text.size() + 10) % 64, ' ').push_back('\n');
  SELFNORM_CHECK(text.size() < 0x10000);
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(text.size() & 0xFF) +
         static_cast<char>(text.size() >> 8) + text;
}

}  // namespace selfnorm

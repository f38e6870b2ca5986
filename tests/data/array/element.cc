#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "data/array/array.h"
#include "data/array_bytes.h"

namespace selfnorm {
namespace {

using Floats = std::vector<float>;

Floats widened(const ElementType& type, const std::string& bytes) {
  Floats out(bytes.size() / type.size);
  widen(type, std::as_bytes(std::span(bytes)), out);
  return out;
}

std::string narrowed(const ElementType& type, const Floats& values) {
  std::string out(values.size() * type.size, '\0');
  narrow(type, values, std::as_writable_bytes(std::span(out)));
  return out;
}

std::string reversed(std::string bytes, size_t width) {
  for (size_t i = 0; i < bytes.size(); i += width) std::reverse(&bytes[i], &bytes[i] + width);
  return bytes;
}

TEST(Element, EveryKindOfNumberInBothByteOrders) {
  struct Case {
    ElementType type;
    std::string bytes;
  };
  const Floats expected{1, 2, 3};
  for (const Case& c :
       std::initializer_list<Case>{{{ElementKind::real, 2, false}, raw<uint16_t>({0x3C00, 0x4000, 0x4200})},
                                   {{ElementKind::bfloat, 2, false}, raw<uint16_t>({0x3F80, 0x4000, 0x4040})},
                                   {{ElementKind::real, 4, false}, raw<float>({1, 2, 3})},
                                   {{ElementKind::real, 8, false}, raw<double>({1, 2, 3})},
                                   {{ElementKind::boolean, 1, false}, "\1\2\3"},
                                   {{ElementKind::natural, 1, false}, "\1\2\3"},
                                   {{ElementKind::natural, 2, false}, raw<uint16_t>({1, 2, 3})},
                                   {{ElementKind::natural, 4, false}, raw<uint32_t>({1, 2, 3})},
                                   {{ElementKind::natural, 8, false}, raw<uint64_t>({1, 2, 3})},
                                   {{ElementKind::integer, 1, false}, "\1\2\3"},
                                   {{ElementKind::integer, 2, false}, raw<int16_t>({1, 2, 3})},
                                   {{ElementKind::integer, 4, false}, raw<int32_t>({1, 2, 3})},
                                   {{ElementKind::integer, 8, false}, raw<int64_t>({1, 2, 3})}}) {
    ElementType other = c.type;
    other.big_endian = true;
    EXPECT_EQ(widened(c.type, c.bytes), expected) << c.type.name();
    EXPECT_EQ(widened(other, reversed(c.bytes, c.type.size)), expected) << c.type.name();
    EXPECT_EQ(label_text(c.type, std::as_bytes(std::span(c.bytes)).data()), "1") << c.type.name();
    if (!c.type.is_float()) continue;
    EXPECT_EQ(narrowed(c.type, expected), c.bytes) << c.type.name();
    EXPECT_EQ(narrowed(other, expected), reversed(c.bytes, c.type.size)) << c.type.name();
  }
}

TEST(Element, BeyondTheRangeIsInfinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(widened({ElementKind::real, 8, false}, raw<double>({1e300, -1e300})),
            (Floats{infinity, -infinity}));
  EXPECT_EQ(narrowed({ElementKind::real, 2, false}, {65520, -1e5f}), raw<uint16_t>({0x7C00, 0xFC00}));
}

TEST(Element, Names) {
  EXPECT_EQ((ElementType{ElementKind::real, 2, false}).name(), "float16");
  EXPECT_EQ((ElementType{ElementKind::bfloat, 2, false}).name(), "bfloat16");
  EXPECT_EQ((ElementType{ElementKind::integer, 8, true}).name(), "int64");
  EXPECT_EQ((ElementType{ElementKind::natural, 1, false}).name(), "uint8");
  EXPECT_EQ((ElementType{ElementKind::boolean, 1, false}).name(), "bool");
  EXPECT_EQ((ElementType{ElementKind::unicode, 8, false}).name(), "8 bytes of text");
}

TEST(Element, LabelsAreWrittenAsPeopleWriteThem) {
  const auto label = [](const ElementType& type, const std::string& bytes) {
    return label_text(type, std::as_bytes(std::span(bytes)).data());
  };
  EXPECT_EQ(label({ElementKind::real, 4, false}, raw<float>({-0.0f})), "0");
  EXPECT_EQ(label({ElementKind::real, 8, false}, raw<double>({1.5})), "1.5");
  EXPECT_EQ(label({ElementKind::real, 2, false}, raw<uint16_t>({0xC400})), "-4");
  EXPECT_EQ(label({ElementKind::real, 8, false}, raw<double>({NAN})), "");
  EXPECT_EQ(label({ElementKind::bytes, 3, false}, std::string("ab\0", 3)), "ab");
}

}  // namespace
}  // namespace selfnorm

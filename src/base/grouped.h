// 1,234,567
#pragma once

#include <cstdint>
#include <string>

namespace selfnorm {

inline std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

}  // namespace selfnorm

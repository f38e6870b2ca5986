// A model file from its bytes, and the message when it is refused.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "model/model_file.h"
#include "selfnorm/error.h"

namespace selfnorm::test {

inline ModelFile parse(const std::string& bytes) {
  std::vector<uint64_t> aligned(bytes.size() / 8 + 1);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  return parse_model(std::as_bytes(std::span(aligned)).first(bytes.size()), "m.st");
}

inline std::string error_of(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace selfnorm::test

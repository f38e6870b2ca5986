#include "reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return selfnorm::fuzz_reader(selfnorm::Format::safetensors, data, size);
}

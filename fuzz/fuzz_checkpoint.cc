// Any bytes as a checkpoint: refused with an Error, or saved again and read as the same.
#include <string>
#include <vector>

#include "engine/checkpoint.h"
#include "memory_file.h"
#include "selfnorm/error.h"

using namespace selfnorm;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  try {
    const Checkpoint checkpoint = Checkpoint::load(file.path());
    for (const char* name : {"step", "seconds", "fingerprint", "theta", "epoch_sum"}) {
      const auto attempt = [](auto read) {
        try {
          read();
        } catch (const Error&) {
        }
      };
      attempt([&] { checkpoint.integer(name); });
      attempt([&] { checkpoint.number(name); });
      attempt([&] {
        std::vector<float> values(3);
        checkpoint.get(name, values);
        SELFNORM_CHECK(values.size() == 3);
      });
      attempt([&] {
        std::vector<double> values;
        checkpoint.get(name, values, 3);
        SELFNORM_CHECK(values.empty() || values.size() == 3);
      });
    }
  } catch (const Error&) {
  }
  return 0;
}

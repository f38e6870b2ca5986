// What the opaque selfnorm_model of selfnorm.h is, and how the C interface reports failures.
#pragma once

#include "selfnorm.h"
#include "selfnorm/runtime/mapped_file.h"
#include "selfnorm/runtime/scorer.h"

struct selfnorm_model {
  selfnorm::runtime::MappedFile mapped;
  selfnorm::runtime::Safetensors file;
  selfnorm::runtime::ModelLayout layout;
  selfnorm::runtime::Scorer scorer;
};

namespace selfnorm::runtime {

// Sets the calling thread's message; returns `status`.
__attribute__((format(printf, 2, 3))) selfnorm_status fail(selfnorm_status status, const char* format, ...);
selfnorm_status fail_null();

}  // namespace selfnorm::runtime

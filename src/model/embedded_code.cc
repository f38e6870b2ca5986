#include "model/embedded_code.h"

#include <fmt/format.h>

#include "selfnorm/error.h"

namespace selfnorm {

void require_consent(EmbeddedCode code, const std::string& name, size_t bytes) {
  if (code == EmbeddedCode::run) return;
  throw Error(
      fmt::format("{}: holds a TorchScript module, a program of {} bytes, which would run with your rights "
                  "(your files, your network); it was not loaded. Take such files only from those whose "
                  "programs you would run; for this one, give --allow-code or set SELFNORM_ALLOW_CODE=1",
                  name, bytes));
}

}  // namespace selfnorm

#include "model/neural/torch_errors.h"

namespace selfnorm {

std::string torch_message(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  std::string text = torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
  for (const std::string mark : {"\nRuntimeError: ", "\ntorch.jit.Error: "}) {
    if (const size_t at = text.rfind(mark); at != std::string::npos) text = text.substr(at + mark.size());
  }
  return text.substr(0, text.find('\n'));
}

}  // namespace selfnorm

// Errors of libtorch as selfnorm::Error: the line that says what went wrong, without its backtrace.
#pragma once

#include <torch/script.h>

#include <string>

#include "selfnorm/error.h"

namespace selfnorm {

// The interpreter of TorchScript reports "... Traceback of TorchScript ...\nRuntimeError: what"; everything
// else has its message in the first line.
std::string torch_message(const std::exception& error);

// `action`, whose errors start with "name: what: ".
template <class Action>
auto with_torch_errors(const std::string& name, const char* what, const Action& action) {
  const auto fail = [&](const std::string& message) { throw Error(name + ": " + what + ": " + message); };
  try {
    return action();
  } catch (const Error&) {
    throw;
  } catch (const Bug&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    fail(torch_message(error));
    throw;
  }
}

}  // namespace selfnorm

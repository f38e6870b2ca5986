// A TorchScript module is a program: to load it is to run it, with the rights of the user. It is the one
// thing in a model file, or beside it, that can execute, so whoever opens a file says what becomes of it.
#pragma once

#include <cstddef>
#include <string>

namespace selfnorm {

enum class EmbeddedCode {
  refuse,  // throw an Error that says what the file holds
  seal,    // keep its bytes: it can be described and stored, not evaluated
  run,     // the user agreed (--allow-code)
};

// Throws that Error, whose message starts with `name`, unless the code may run.
void require_consent(EmbeddedCode code, const std::string& name, size_t bytes);

}  // namespace selfnorm

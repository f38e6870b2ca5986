// Where the modules are that the program opens when it needs them: CUDA, MPI.
#pragma once

#include <string>

namespace selfnorm {

// What the environment variable says, else the first of: beside the program, the library folder beside its
// own, the one it was installed into; else the file alone, for the system's search path.
std::string module_path(const char* variable, const char* file);

}  // namespace selfnorm

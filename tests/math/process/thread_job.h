// A job whose processes are threads of this one: what tests run where the program would need mpirun.
#pragma once

#include <functional>

namespace selfnorm {

// body(rank) in each of so many threads, each with a communicator of its own as the current one. Throws what
// the first of them threw that was not left alone by another.
void run_as_processes(int processes, const std::function<void(int rank)>& body);

}  // namespace selfnorm

// One of several processes, of a program of another version: tests/mpi/program.cc starts it beside the built
// one.
#include <unistd.h>

#include "mpi/job.h"
#include "selfnorm/error.h"

int main() {
  selfnorm::MpiJob job;
  try {
    job.communicator().require_same("version", "of another program");
  } catch (const selfnorm::Error&) {
    pause();  // the first process says it and ends the job
  }
}

// Thrown where the processes of a job can exchange nothing any more: they do not make the same calls, or MPI
// fails. No process may go on, and none can tell the others: the program says why and ends the job. It is no
// std::exception, so that nothing that reports or works around errors takes it for one.
#pragma once

#include <string>

namespace selfnorm {

struct BrokenJob {
  std::string why;
};

}  // namespace selfnorm

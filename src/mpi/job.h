// The job this process was started in: by mpirun, srun or `selfnorm launch`, as one of several processes. MPI
// is in a module of its own (mpi/module.h), which is loaded when there are several, and not needed otherwise.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/interruption.h"
#include "math/process/communicator.h"

namespace selfnorm {

// By what started this process: how many there are, and which one it is. Nothing: it is alone. The variable
// SELFNORM_PROCESSES=alone says so of processes that were started together for work of their own.
struct StartedTogether {
  int rank, size;
  std::string by;  // in words
};
std::optional<StartedTogether> started_together();

class MpiLink;

// While alive, this process is one of the job: current_communicator() of the thread that made it. Throws
// Error where the module cannot be loaded or MPI does not start.
class MpiJob {
 public:
  // `communicator`: mpi4py's handle (py2f), or 0 for all that were started together.
  explicit MpiJob(int64_t communicator = 0);
  ~MpiJob();
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;

  Communicator& communicator() { return *communicator_; }
  // Ends all processes.
  [[noreturn]] void abort(int code);

 private:
  std::unique_ptr<MpiLink> link_;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<CommunicatorScope> scope_;
  std::unique_ptr<InterruptionScope> interruptions_;
};

}  // namespace selfnorm

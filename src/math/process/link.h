// What carries bytes between the processes of a job: MPI (mpi/job.h), or memory where threads stand for
// processes (tests/math/process/thread_job.h). What processes do together is made of it
// (math/process/communicator.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace selfnorm {

// Thrown where the processes of a job can exchange nothing any more: they do not make the same calls, or MPI
// fails. No process may go on, and none can tell the others: the program says why and ends the job. It is no
// std::exception, so that nothing that reports or works around errors takes it for one.
struct BrokenJob {
  std::string why;
};

class Link {
 public:
  virtual ~Link() = default;

  virtual int rank() const = 0;  // of this process, 0 .. size() - 1
  virtual int size() const = 0;

  // Begin. The bytes stay where they are and as they are until wait(); messages from one process to another
  // arrive in the order in which they were sent, each into as many bytes as it has.
  virtual uint64_t send(int to, std::span<const std::byte> bytes) = 0;
  virtual uint64_t receive(int from, std::span<std::byte> bytes) = 0;
  virtual void wait(uint64_t request) = 0;
};

}  // namespace selfnorm

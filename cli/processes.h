// Commands that several processes run together (mpi/job.h). Process 0 speaks, and writes all files; the
// others are silent unless they fail alone, and then say who they are. A failure of one ends the job.
#pragma once

#include <cstdint>
#include <string>

namespace selfnorm::cli {

struct Arguments;

// First of all in main().
void quieten_others();

// From here on current_communicator() is that of the job, if there is one. Throws Error unless all processes
// are the same program with the same options, on processors that compute the same bits.
void join_processes(const Arguments& arguments);
// Throws Error when several processes were started for a command that is work of one.
void refuse_processes(const Arguments& arguments);

// All have come to the end: the exit code of process 0, in all of them.
int leave_processes(int code);
// Says why this process fails and ends the job with that exit code, which is returned when it is alone.
int fail_processes(const std::string& message, int code);

// What the processes of a job did in so many steps: "4 processes: ... steps/s, ..% of the time in
// communication, ...".
std::string processes_text(uint64_t steps);

}  // namespace selfnorm::cli

#include "processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>

#include "base/failure.h"
#include "gpu/device.h"
#include "grammar/arguments.h"
#include "interruption.h"
#include "math/gemm.h"
#include "mpi/job.h"
#include "output.h"
#include "version.h"

namespace selfnorm::cli {
namespace {

using Clock = std::chrono::steady_clock;

// What fails in process 0 as well is said there: the others wait for it, each a little longer than the last.
constexpr std::chrono::milliseconds kCourtesy{3000}, kEach{100};
constexpr int kMostWaits = 50;

struct Job {
  std::optional<StartedTogether> started;
  int terminal = -1;  // where stderr of a silent process went
  std::unique_ptr<MpiJob> mpi;
  Clock::time_point joined;
};

Job& job() {
  static Job& one = *new Job;  // MPI is ended by leave_processes(), or with the process
  return one;
}

bool is_silent() { return job().started && job().started->rank > 0; }

std::string host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

}  // namespace

// Before a word is read, of which each process would say that it is wrong.
void quieten_others() {
  try {
    job().started = started_together();
  } catch (const Error&) {  // said by join_processes(), or refuse_processes()
    return;
  }
  if (!is_silent()) return;
  job().terminal = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, standard);
  close(nowhere);
}

void join_processes(const Arguments& arguments) {
  const auto started = started_together();
  if (!started) return;
  job().mpi = std::make_unique<MpiJob>();
  job().joined = Clock::now();
  Communicator& all = job().mpi->communicator();
  if (all.size() != started->size)
    throw_error(
        "{} started {} processes, but MPI knows of {}: start them by the mpirun of the MPI that the module "
        "is "
        "built with, or by srun --mpi=pmix; or set SELFNORM_PROCESSES=alone if each is to work on its own",
        started->by, started->size, all.size());
  all.require_same("version", kVersion);
  std::string options;
  Json::to_cbor(arguments.options, options);  // takes the bytes of file names as they are
  all.require_same("command and options", arguments.command + options);
  all.require_same("their processors, which would give other bits", processor_kernels());
  const std::string& device = arguments.common.device;
  if (device != "auto" && device != "cpu")
    throw_error("--device {}: several processes compute on their CPUs; use --device cpu", device);
  choose_device("cpu");
  if (!arguments.command.starts_with("train ")) return;
  for (const std::string& file : {arguments.run().train, arguments.run().valid})
    if (file == "-")
      throw Error("standard input reaches one of several processes only; store the data in a file");
  stop_together(true);
}

void refuse_processes(const Arguments& arguments) {
  if (const auto started = started_together())
    throw_error(
        "{} started {} processes, but 'selfnorm {}' is work of one; start it without {}, or set "
        "SELFNORM_PROCESSES=alone if each is to work on its own",
        started->by, started->size, arguments.command, started->by);
}

int leave_processes(int code) {
  if (!job().mpi) return code;
  Communicator& all = job().mpi->communicator();
  const std::string text = all.size() > 1 ? all.from_first(std::to_string(code)) : std::to_string(code);
  std::from_chars(text.data(), text.data() + text.size(), code);
  job().mpi.reset();
  return code;
}

int fail_processes(const std::string& message, int code) {
  if (is_silent())
    for (const int signal : {SIGCONT, SIGTERM})  // process 0 has said it: the launcher ends all
      std::signal(signal, [](int) { _exit(EXIT_FAILURE); });
  if (job().started && !job().mpi) {  // so that process 0 can end the others before they say the same
    try {
      job().mpi = std::make_unique<MpiJob>();
    } catch (const Error&) {  // then each of them fails alone
    }
  }
  if (is_silent()) {
    const int rank = job().started->rank;
    std::this_thread::sleep_for(kCourtesy + std::min(rank, kMostWaits) * kEach);
    dup2(job().terminal, STDERR_FILENO);
    put_on_stderr(fmt::format("process {} of {} on {}: ", rank, job().started->size, host()));
  }
  put_on_stderr(message);
  if (job().mpi) job().mpi->abort(code);
  return code;
}

std::string processes_text(uint64_t steps) {
  const Communicator& all = *current_communicator();
  const double seconds = std::chrono::duration<double>(Clock::now() - job().joined).count();
  const double count = static_cast<double>(std::max<uint64_t>(1, steps));
  const Traffic& traffic = all.traffic();
  return fmt::format(
      "{} processes: {:.3g} steps/s, {:.0f}% of the time in communication, {:.3g} kB sent a step", all.size(),
      count / seconds, 100 * traffic.seconds / seconds, static_cast<double>(traffic.bytes) / count / 1e3);
}

}  // namespace selfnorm::cli

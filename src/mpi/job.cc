#include "mpi/job.h"

#include <dlfcn.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "base/failure.h"
#include "base/module_path.h"
#include "math/process/link.h"
#include "mpi/module.h"

namespace selfnorm {
namespace {

constexpr const char* kVariable = "SELFNORM_MPI_MODULE";
constexpr const char* kModule = "libselfnorm_mpi_module.so";
constexpr size_t kLongestMessage = 1u << 30;
// How a process waits: at first it asks again at once, then after others had the processor, then after a
// sleep.
constexpr int kEagerTests = 50, kYieldingTests = 2000;
constexpr long kShortestSleep = 20'000, kLongestSleep = 500'000;  // nanoseconds

#define SELFNORM_MPI_FUNCTIONS(F) \
  F(selfnorm_mpi_abi)             \
  F(selfnorm_mpi_error)           \
  F(selfnorm_mpi_open)            \
  F(selfnorm_mpi_close)           \
  F(selfnorm_mpi_abort) F(selfnorm_mpi_send) F(selfnorm_mpi_receive) F(selfnorm_mpi_test)

struct MpiModule {
#define SELFNORM_MEMBER(name) decltype(&::name) name = nullptr;
  SELFNORM_MPI_FUNCTIONS(SELFNORM_MEMBER)
#undef SELFNORM_MEMBER
};

const MpiModule& mpi_module() {
  static const MpiModule loaded = [] {
    const std::string path = module_path(kVariable, kModule);
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
      throw_error(
          "several processes need {}, which cannot be loaded ({}); build it where mpicc is (Debian: "
          "libopenmpi-dev), or set {} to its path",
          kModule, dlerror(), kVariable);
    MpiModule out;
#define SELFNORM_FIND(name)                                              \
  out.name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name)); \
  if (out.name == nullptr) throw_error("{} has no {}: build it anew", path, #name);
    SELFNORM_MPI_FUNCTIONS(SELFNORM_FIND)
#undef SELFNORM_FIND
    if (out.selfnorm_mpi_abi() != SELFNORM_MPI_ABI)
      throw_error("{} has the interface {}, expected {}: build it anew", path, out.selfnorm_mpi_abi(),
                  SELFNORM_MPI_ABI);
    return out;
  }();
  return loaded;
}

std::optional<int> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  return error == std::errc() && rest == end && value >= 0 ? std::optional(value) : std::nullopt;
}

// Asks `is_done` until it is so.
template <class Test>
void wait_until(const Test& is_done) {
  timespec pause{0, kShortestSleep};
  for (int tests = 0; !is_done(); ++tests) {
    if (tests < kEagerTests) continue;
    if (tests < kYieldingTests) {
      sched_yield();
    } else {
      nanosleep(&pause, nullptr);
      pause.tv_nsec = std::min(2 * pause.tv_nsec, kLongestSleep);
    }
  }
}

}  // namespace

class MpiLink final : public Link {
 public:
  explicit MpiLink(int64_t communicator) : module_(mpi_module()) {
    if (module_.selfnorm_mpi_open(communicator, &rank_, &size_) != 0)
      throw_error("MPI: {}", module_.selfnorm_mpi_error());
  }
  ~MpiLink() override { module_.selfnorm_mpi_close(); }
  MpiLink(const MpiLink&) = delete;
  MpiLink& operator=(const MpiLink&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  uint64_t send(int to, std::span<const std::byte> bytes) override {
    return begin(bytes, [&](std::span<const std::byte> piece, void** request) {
      return module_.selfnorm_mpi_send(to, piece.data(), piece.size(), request);
    });
  }
  uint64_t receive(int from, std::span<std::byte> bytes) override {
    return begin(bytes, [&](std::span<std::byte> piece, void** request) {
      return module_.selfnorm_mpi_receive(from, piece.data(), piece.size(), request);
    });
  }
  void wait(uint64_t request) override {
    const auto place = pending_.find(request);
    if (place == pending_.end()) return;
    for (void* piece : place->second)
      wait_until([&] {
        int is_done = 0;
        must(module_.selfnorm_mpi_test(piece, &is_done));
        return is_done != 0;
      });
    pending_.erase(place);
  }

  [[noreturn]] void abort(int code) const {
    module_.selfnorm_mpi_abort(code);
    std::abort();
  }

 private:
  void must(int status) const {
    if (status != 0) throw BrokenJob{fmt::format("MPI: {}", module_.selfnorm_mpi_error())};
  }

  // In pieces that MPI can count.
  template <class Bytes, class Begin>
  uint64_t begin(Bytes bytes, const Begin& begin_piece) {
    std::vector<void*>& pieces = pending_[++last_];
    for (size_t at = 0; at < bytes.size(); at += kLongestMessage) {
      pieces.push_back(nullptr);
      must(begin_piece(bytes.subspan(at, std::min(kLongestMessage, bytes.size() - at)), &pieces.back()));
    }
    return last_;
  }

  const MpiModule& module_;
  int rank_ = 0, size_ = 1;
  std::map<uint64_t, std::vector<void*>> pending_;
  uint64_t last_ = 0;
};

std::optional<StartedTogether> started_together() {
  struct Launcher {
    const char *size, *rank, *by;
  };
  if (const char* word = std::getenv("SELFNORM_PROCESSES"); word != nullptr && *word != '\0') {
    if (std::string(word) == "alone") return std::nullopt;
    throw_error("SELFNORM_PROCESSES={}: expected alone, or no such variable", word);
  }
  // Open MPI's mpirun; MPICH's and Intel's mpiexec, and srun --mpi=pmi2; srun.
  for (const Launcher& l : {Launcher{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun"},
                            Launcher{"PMI_SIZE", "PMI_RANK", "mpiexec"},
                            Launcher{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun"}}) {
    const auto size = number_in(l.size), rank = number_in(l.rank);
    if (size && rank && *size > 1 && *rank < *size) return StartedTogether{*rank, *size, l.by};
  }
  return std::nullopt;
}

MpiJob::MpiJob(int64_t communicator)
    : link_(std::make_unique<MpiLink>(communicator)),
      communicator_(std::make_unique<Communicator>(*link_)),
      scope_(std::make_unique<CommunicatorScope>(link_->size() > 1 ? communicator_.get() : nullptr)),
      interruptions_(link_->size() > 1 ? std::make_unique<InterruptionScope>(Interruptions::put_off)
                                       : nullptr) {}

MpiJob::~MpiJob() = default;

void MpiJob::abort(int code) { link_->abort(code); }

}  // namespace selfnorm

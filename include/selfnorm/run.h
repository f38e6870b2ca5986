// What a training takes beside data and options.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "selfnorm/error.h"
#include "selfnorm/progress.h"

namespace selfnorm {

// A training ended because its observer asked for it; its checkpoint, if it has one, can be resumed.
class Stopped : public Error {
 public:
  using Error::Error;
};

struct Run {
  Run() = default;
  Run(TrainObserver& watching) : observer(&watching) {}

  TrainObserver* observer = nullptr;  // null: nobody watches
  CheckpointOptions checkpoint = {};
  std::span<const float> weights = {};  // classifiers, regressors: one a row, >= 0; empty: all are 1
  // The share of the rows (sentences) that has no part in the steps and says when to stop, 0..0.5; nothing: a
  // tenth of 20 rows and more, a twentieth of the sentences of a language model, none for `constraint`.
  std::optional<double> hold_out = {};
};

// While alive, what this thread trains is trained together with the other processes of a job of MPI, all of
// which make the same calls with the same data and get the same model (docs/guide/scale.md). Of files the
// first one writes the checkpoints. An error in one process alone leaves the others waiting: end the job
// then.
class Processes {
 public:
  // MPI_Comm_c2f of a communicator (mpi4py: py2f); 0: of all that were started together. Throws Error where
  // the module of MPI cannot be opened.
  explicit Processes(int64_t communicator = 0);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int rank() const;
  int size() const;

 private:
  struct Job;
  std::unique_ptr<Job> job_;
};

}  // namespace selfnorm

#include "selfnorm/load.h"

#include "api/rows.h"
#include "gpu/device.h"
#include "model/stored_record.h"
#include "mpi/job.h"

namespace selfnorm {

LoadedModel load(const std::string& path) {
  const FileIdentity is = identity_of(model_file_of(path));
  if (is.family == "chain") return Crf::load(path);
  if (is.family == "regressor") return EnergyRegressor::load(path);
  if (is.family == "density") return EnergyDensity::load(path);
  if (is.input == "context") return LanguageModel::load(path);
  return Classifier::load(path);
}

struct Processes::Job {
  explicit Job(int64_t communicator) : mpi(communicator) {}
  MpiJob mpi;
};

Processes::Processes(int64_t communicator) {
  choose_device("cpu");
  job_ = std::make_unique<Job>(communicator);
}
Processes::~Processes() = default;

int Processes::rank() const { return job_->mpi.communicator().rank(); }
int Processes::size() const { return job_->mpi.communicator().size(); }

}  // namespace selfnorm

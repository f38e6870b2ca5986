#include "mpi/job.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// What the variables of launchers say, with none of those this test was started with.
std::optional<StartedTogether> told(const std::vector<std::pair<const char*, const char*>>& variables) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMI_RANK",
                           "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SELFNORM_PROCESSES"})
    unsetenv(name);
  for (const auto& [name, value] : variables) setenv(name, value, 1);
  return started_together();
}

TEST(MpiJob, LaunchersSayWhoThereIs) {
  EXPECT_FALSE(told({}));
  EXPECT_FALSE(told({{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}}));
  EXPECT_FALSE(told({{"SLURM_STEP_NUM_TASKS", "four"}, {"SLURM_PROCID", "0"}}));
  EXPECT_FALSE(told({{"PMI_SIZE", "4"}}));
  for (const auto& [size, rank, by] : {std::tuple{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun"},
                                       {"PMI_SIZE", "PMI_RANK", "mpiexec"},
                                       {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun"}}) {
    const auto found = told({{size, "4"}, {rank, "3"}});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->size, 4);
    EXPECT_EQ(found->rank, 3);
    EXPECT_EQ(found->by, by);
  }
}

TEST(MpiJob, ProcessesMayBeAlone) {
  EXPECT_FALSE(told({{"PMI_SIZE", "4"}, {"PMI_RANK", "3"}, {"SELFNORM_PROCESSES", "alone"}}));
  EXPECT_THROW(told({{"SELFNORM_PROCESSES", "3"}}), Error);
  told({});
}

TEST(MpiJob, AMissingModuleSaysWhatToInstall) {
  setenv("SELFNORM_MPI_MODULE", "/nowhere/libselfnorm_mpi_module.so", 1);
  try {
    MpiJob job;
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("/nowhere/libselfnorm_mpi_module.so"), std::string::npos) << text;
    EXPECT_NE(text.find("libopenmpi-dev"), std::string::npos) << text;
  }
  unsetenv("SELFNORM_MPI_MODULE");
}

}  // namespace
}  // namespace selfnorm

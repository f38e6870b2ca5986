// Experiments by name, in four groups: "papers", those of [ARJK, AK] and their open questions, "density",
// energy-based densities, "regression", energy-based regression, and "sequences", linear chains. A new one is
// a source file in the folder of its group and a line in experiment.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/record.h"

namespace selfnorm {

enum class Extent {
  full,    // as published in docs/{reproduction,density,regression,sequences}.md
  reduced  // the same shapes in a few seconds, for tests
};

struct ExperimentOptions {
  uint64_t seed = 1;  // density: the seeds from 4 (seed - 1); regression: from 5 (seed - 1); others: itself
  Extent extent = Extent::full;
  std::string text = {};   // file for the language models; empty: the licences of /usr/share/common-licenses
  std::string data = {};   // folder of real tables, tasks and treebanks; empty or missing: none
  std::string cells = {};  // all but papers: file of finished trainings (cells.h); empty: none
  int threads = 0;         // 0 = all cores; the numbers do not depend on it
  std::function<void(double)> progress = [](double) {};  // the fraction done

  bool reduced() const { return extent == Extent::reduced; }
};

struct Experiment {
  std::string name;
  std::string text;    // what it is, in a line
  double seconds = 1;  // about how long it takes, for the estimate of the time left
  std::function<Record(const ExperimentOptions&)> run;
  std::string group = "papers";
};

// In the order of the documents.
const std::vector<Experiment>& experiments();
// Throws Error with the names there are.
const Experiment& find_experiment(const std::string& name);

// The functions of the table, one source file each.
Record run_fig1a(const ExperimentOptions& options);
Record run_fig1b(const ExperimentOptions& options);
Record run_fig2a(const ExperimentOptions& options);
Record run_fig2b(const ExperimentOptions& options);
Record run_table_ak(const ExperimentOptions& options);
Record run_theorem4(const ExperimentOptions& options);
Record run_open_questions(const ExperimentOptions& options);
Record run_density_toys(const ExperimentOptions& options);
Record run_density_sensitivity(const ExperimentOptions& options);
Record run_density_ising(const ExperimentOptions& options);
Record run_density_tables(const ExperimentOptions& options);
Record run_regression_tasks(const ExperimentOptions& options);
Record run_regression_uci(const ExperimentOptions& options);
Record run_sequences_ewt(const ExperimentOptions& options);
Record run_sequences_time(const ExperimentOptions& options);

}  // namespace selfnorm

// What is said and drawn of the tables.
#pragma once

#include "experiments/record.h"
#include "experiments/summary.h"

namespace selfnorm {

// A table of the page, with mean test NLLs that others printed.
struct UciSource {
  const char *name, *folder;
  double deep_ensembles, ngboost;
};
const std::vector<UciSource>& uci_sources();

struct UciTable {
  UciSource source;
  uint64_t rows = 0, features = 0, repeated = 0, distinct_targets = 0;
  std::vector<std::vector<CellValues>> cells = {};  // of every model, of every split

  bool is_in_time() const;  // whether its time counts: all but protein
};

enum class Outcome { won, tied, lost };
const char* word(Outcome outcome);
// Of a mean of first - second of something that should be small: beyond two standard errors or not.
Outcome outcome_of(const MeanError& difference);

// Model by model: NLL, CRPS, RMSE, coverage, rms(b - A), seconds.
Table uci_table(const std::vector<UciTable>& tables);
// snl against what others printed, and against the other models, set by set; facts count the outcomes.
std::vector<Table> uci_outcomes(const std::vector<UciTable>& tables, Record& record);
// Facts: processor_seconds of all tables; of those that are in time processor_seconds_in_time and
// estimated_clock_minutes, the sum over trainings of wall time / trainings at once.
Table uci_times(const std::vector<UciTable>& tables, Record& record);
Panel uci_panel(const std::vector<UciTable>& tables);

}  // namespace selfnorm

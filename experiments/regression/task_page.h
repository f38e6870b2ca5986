// What is said and drawn of the tasks.
#pragma once

#include "experiments/record.h"
#include "experiments/regression/task.h"

namespace selfnorm {

// The rule of is_no_worse (density_summary.h), in words.
constexpr const char* kNoWorse =
    "the mean difference, seed by seed, is at most two of its standard errors or one standard error of the "
    "mean of snl, whichever is larger";

// What was asked, and whether it was met.
class Judgement {
 public:
  void add(const std::string& what, const std::string& asked, const std::string& found, bool is_met);
  size_t met() const { return met_; }
  size_t count() const { return table_.rows.size(); }
  const std::string& missed() const { return missed_; }  // in words
  Table release() { return std::move(table_); }

 private:
  Table table_{.caption = std::string("What was asked. No worse: ") + kNoWorse +
                          ". Targets of snl are missed where a seed has no number; the lowest is that of the "
                          "finite ones. The standard error of a single NLL is over test rows, and not paired "
                          "with the truth.",
               .columns = {"what", "asked", "measured", ""},
               .rows = {}};
  size_t met_ = 0;
  std::string missed_;
};

// Adds what was asked of a task, and facts by name.
void judge(const RegressionTaskRun& task, Judgement& out, Record& record);

Table task_table(const RegressionTaskRun& task);
void add_numbers(const RegressionTaskRun& task, uint64_t first_seed, Table& data);
Panel task_panel(const RegressionTaskRun& task);
Figure task_pictures(const std::vector<RegressionTaskRun>& tasks);

}  // namespace selfnorm

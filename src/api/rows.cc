#include "api/rows.h"

#include <cmath>
#include <filesystem>

#include "base/failure.h"

namespace selfnorm {

void check_rows(const Rows& x) {
  if (x.columns == 0 || x.values.empty() || x.values.size() % x.columns != 0)
    throw_error("found {} numbers in rows of {} columns; expected whole rows, at least one", x.values.size(),
                x.columns);
  for (size_t i = 0; i < x.values.size(); ++i)
    if (!std::isfinite(x.values[i]))
      throw_error("row {}, column {} (from 0): found {}; expected finite numbers", i / x.columns,
                  i % x.columns, x.values[i]);
}

std::string model_file_of(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_directory(path, none) ? path + "/model.safetensors" : path;
}

void check_ending(const RunResult& result, TrainObserver& observer) {
  if (result.interrupted) throw Error("training was stopped before it was finished");
  if (result.diverged)
    observer.on_warning("training diverged; the model is the last good one (try a smaller learning-rate)");
}

}  // namespace selfnorm

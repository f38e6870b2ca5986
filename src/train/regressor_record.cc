#include "selfnorm/train/regressor_record.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "selfnorm/data/string_index.h"
#include "selfnorm/train/run_description.h"

namespace selfnorm {
namespace {

// The module by its name alone: a run resumes from any folder, and its model is the same.
nlohmann::ordered_json options_json(RegressorOptions o) {
  o.module = std::filesystem::path(o.module).filename().string();
  return option_record(regressor_option_table(o));
}

// Bytes of the numbers as they are.
template <class T>
void add_bytes(const std::vector<T>& values, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

}  // namespace

std::string regressor_objective_json(const RegressorOptions& options) {
  RegressorOptions o = options;
  return objective_options("regressor", o.objective, regressor_option_table(o)).dump();
}

std::string regressor_training_json(const RegressorOptions& options, const std::string& reason, uint64_t rows,
                                    uint64_t steps) {
  nlohmann::ordered_json out = options_json(options);
  out.update({{"rows", rows}, {"steps_taken", steps}, {"reason", reason}});
  return out.dump();
}

std::string regressor_fingerprint(const Frame& frame, const std::vector<std::string>& targets,
                                  std::span<const uint64_t> train_rows, std::span<const uint64_t> valid_rows,
                                  const RegressorOptions& options) {
  nlohmann::ordered_json all = options_json(options);
  all.update({{"targets", targets},
              {"train_rows", std::vector<uint64_t>(train_rows.begin(), train_rows.end())},
              {"valid_rows", std::vector<uint64_t>(valid_rows.begin(), valid_rows.end())}});
  std::string bytes = all.dump();
  if (!options.module.empty()) {
    std::ifstream file(options.module, std::ios::binary);
    bytes.append(std::istreambuf_iterator<char>(file), {});
  }
  for (const FrameColumn& column : frame.columns) {
    bytes += column.name + '\n';
    add_bytes(column.number, bytes);
    add_bytes(column.level, bytes);
    for (const std::string& level : column.levels) bytes += level + '\n';
  }
  return fmt::format("{:016x}", hash_bytes(bytes));
}

}  // namespace selfnorm

#include "run/rows_part.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "run/run_record.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

// Reads as far as the files agree.
bool is_same_content(const fs::path& a, const fs::path& b) {
  std::ifstream first(a, std::ios::binary), second(b, std::ios::binary);
  if (!first || !second) return false;
  using Bytes = std::istreambuf_iterator<char>;
  return std::equal(Bytes(first), Bytes(), Bytes(second), Bytes());
}

bool is_same_data(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error) && !error) return true;
  if (!fs::is_regular_file(a, error) || !fs::is_regular_file(b, error)) return false;
  const uintmax_t size = fs::file_size(a, error);
  return !error && size == fs::file_size(b, error) && !error && is_same_content(a, b);
}

// `recorded` from here or, where it is relative, from a folder above the run.
bool is_recorded_data(const fs::path& run, const fs::path& recorded, const fs::path& data) {
  if (is_same_data(recorded, data)) return true;
  if (recorded.is_absolute()) return false;
  for (fs::path folder = run; folder.has_relative_path(); folder = folder.parent_path())
    if (is_same_data(folder / recorded, data)) return true;
  return false;
}

}  // namespace

std::string run_of_model(const std::string& model) {
  const fs::path path = fs::absolute(model);
  const fs::path run = fs::is_directory(path) ? path : path.parent_path();
  const bool is_its_model = fs::is_directory(path) || path.filename() == kModelName;
  return is_its_model && fs::exists(run / kRecordName) ? fs::proximate(run).string() : "";
}

RowsPart rows_part(const std::string& model, const std::string& data) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(model, error);
  const fs::path folder = fs::is_directory(path, error) ? path : path.parent_path();
  const auto is_recorded = [&](const char* key) {
    const std::string recorded = recorded_data(folder.string(), key);
    return !recorded.empty() && is_recorded_data(folder, recorded, data);
  };
  try {
    return is_recorded("data")    ? RowsPart::kTrained
           : is_recorded("valid") ? RowsPart::kChoseStep
                                  : RowsPart::kNone;
  } catch (const Error&) {  // a config.json of something else, as beside many heads
    return RowsPart::kNone;
  }
}

RowsPart part_of_valid(const std::string& train, const std::string& valid) {
  return !valid.empty() && is_same_data(train, valid) ? RowsPart::kTrained : RowsPart::kChoseStep;
}

std::string data_words(const RunArguments& run, RowsPart part, const std::string& unit) {
  if (part == RowsPart::kTrained) return run.train + ", training " + unit;
  return (run.valid.empty() ? run.train : run.valid) + ", validation " + unit;
}

}  // namespace selfnorm::cli

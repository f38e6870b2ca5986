#include "run/run_record.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/failure.h"
#include "objective/registry.h"
#include "run/record_text.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm::cli {
namespace {

namespace fs = std::filesystem;

// How a run is carried out, as opposed to what it computes.
const std::set<std::string> kFree{
    "TRAIN", "CORPUS",     "DATA",          "out",     "resume", "overwrite", "checkpoint-seconds",
    "valid", "test",       "threads",       "json",    "quiet",  "config",    "no-report",
    "force", "allow-code", "max-expansion", "verbose", "cache"};

std::string numbered(const std::string& base, int number) {
  return number == 1 ? base : fmt::format("{}-{}", base, number);
}

std::string base_run_path(const RunArguments& run, const std::string& objective) {
  const std::string first = run.train.substr(0, run.train.find('\n'));
  std::string stem = first == "-" ? "stdin" : fs::path(first).filename().string();
  std::erase_if(stem, [](char c) { return c == '*' || c == '?'; });
  if (fs::path(stem).extension() == ".gz") stem = fs::path(stem).stem().string();
  stem = fs::path(stem).stem().string();
  return fmt::format("out/{}-{}", stem.empty() ? "run" : stem, objective);
}

Json read_record(const std::string& run) {
  std::string path = run + "/" + kRecordName;
  std::ifstream file(path);
  if (!file) file.open(path += ".replaced");  // RunDirectory puts it back
  if (!file) return nullptr;
  return parse_record({std::istreambuf_iterator<char>(file), {}}, path);
}

// From where the run was started, unless it has moved with its data since.
std::string found_path(const Json& record, const std::string& path) {
  if (!record.contains("directory") || !record["directory"].is_string() || path == "-") return path;
  const fs::path start = record["directory"].get<std::string>();
  std::error_code error;
  if (fs::equivalent(start, fs::current_path(), error) || !fs::exists(start / path, error)) return path;
  return (start / path).string();
}

bool is_same_file(const Json& a, const Json& b) {
  std::error_code error;
  return a.is_string() && b.is_string() && fs::equivalent(a.get<std::string>(), b.get<std::string>(), error);
}

uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 32);
}

// Takes whole words off the bytes.
uint64_t mixed_words(uint64_t hash, std::span<const std::byte>& bytes) {
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    hash = mixed(hash, word);
  }
  return hash;
}

uint64_t mixed_tail(uint64_t hash, std::span<const std::byte> bytes) {
  uint64_t tail = 0;
  if (!bytes.empty()) std::memcpy(&tail, bytes.data(), bytes.size());
  return mixed(hash, tail);
}

uint64_t mixed_bytes(uint64_t hash, const void* bytes, size_t size) {
  std::span rest(static_cast<const std::byte*>(bytes), size);
  hash = mixed_words(mixed(hash, size), rest);
  return mixed_tail(hash, rest);
}

template <typename T>
uint64_t mixed_array(uint64_t hash, const std::vector<T>& values) {
  return mixed_bytes(hash, values.data(), values.size() * sizeof(T));
}

template <typename T>
uint64_t mixed_array(uint64_t hash, const StoredArray<T>& values) {
  hash = mixed(hash, values.size() * sizeof(T));
  std::span<const std::byte> rest;
  for_each_piece(values, [&](std::span<const T> piece) {
    rest = std::as_bytes(piece);
    hash = mixed_words(hash, rest);
  });
  return mixed_tail(hash, rest);
}

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

// The one with the largest number, or none.
std::vector<std::string> latest_run(const std::string& base) {
  int number = 1;
  while (fs::exists(numbered(base, number + 1))) ++number;
  if (!fs::exists(numbered(base, number))) return {};
  return {numbered(base, number)};
}

}  // namespace

std::string new_run_path(const RunArguments& run, const std::string& objective) {
  const std::string base = base_run_path(run, objective);
  int number = 1;
  while (fs::exists(numbered(base, number))) ++number;
  return numbered(base, number);
}

std::string resumed_run_path(const RunArguments& run, const std::string& objective) {
  if (!run.out.empty()) {
    if (!fs::is_directory(run.out)) throw_error("--resume: {} is not a directory", run.out);
    return run.out;
  }
  if (run.train.empty()) throw Error("--resume needs --out DIR (or the data it was started with)");
  // The data may have chosen another objective than the one that is not given here.
  const std::string base = base_run_path(run, objective);
  std::vector<std::string> found = latest_run(base);
  for (const ObjectiveEntry& other : all_objectives())
    for (std::string& path : latest_run(base_run_path(run, other.name))) found.push_back(std::move(path));
  if (found.empty()) throw_error("--resume: there is no run {}; name it by --out", base);
  for (const std::string& path : found)
    if (fs::exists(path + "/" + kCheckpointName)) return path;
  return *std::ranges::max_element(found, {},
                                   [](const std::string& path) { return fs::last_write_time(path); });
}

std::string recorded_command(const std::string& run) {
  const Json record = read_record(run);
  return record.is_null() ? "train classifier" : record.value("command", "train classifier");
}

Json recorded_options(const CommandRow& command, const Arguments& given) {
  const std::string run = resumed_run_path(given.run(), given.objective());
  Json record = read_record(run);
  if (record.is_null() && given.run().train.empty())
    throw_error(
        "--resume: the run in {} was never begun (it has no {}); start it with 'selfnorm {} {} --out {}'",
        run, kRecordName, given.command, command.options[0].name, run);
  if (record.is_null()) return record;
  if (recorded_command(run) != given.command)
    throw_error("--resume: {} is a run of 'selfnorm {}', not of 'selfnorm {}'", run,
                runtime::shortened(recorded_command(run)), given.command);
  Json options = record["options"];
  for (const char* name : {"resume", "out", "config", "quiet", "json", "overwrite", "allow-code"})
    options.erase(name);
  for (auto& [name, value] : options.items()) {
    const OptionRow* option = command.find(command.find(name) != nullptr ? name : "--" + name);
    if (!value.is_string() || option == nullptr) continue;
    const std::string word = value;
    if (word.empty()) continue;
    if (option->kind == ValueKind::kFile || word.ends_with(".pt")) value = found_path(record, word);
  }
  return options;
}

std::string recorded_data(const std::string& run, const std::string& key) {
  const Json record = read_record(run);
  if (record.is_null() || !record.contains(key) || !record[key].is_object()) return "";
  return found_path(record, record[key].value("path", ""));
}

void check_same_run(const Json& recorded, const Json& given) {
  for (const auto& [name, value] : recorded.items()) {
    if (kFree.contains(name) || !given.contains(name) || given[name] == value) continue;
    if (is_same_file(given[name], value)) continue;
    throw_error("--resume: --{} is {} here but {} in the run; leave it out, or start a new run", name,
                runtime::shortened(given[name].dump()), runtime::shortened(value.dump()));
  }
}

uint64_t fingerprint(const Dataset& data) {
  uint64_t hash = mixed(data.features.columns(), data.features.rows());
  if (data.features.is_sparse) {
    hash = mixed_array(hash, data.features.sparse.begin);
    hash = mixed_array(hash, data.features.sparse.column);
    hash = mixed_array(hash, data.features.sparse.value);
  } else {
    hash = mixed_array(hash, data.features.dense.values);
  }
  hash = mixed_array(hash, data.target);
  hash = mixed_array(hash, data.weight);
  hash = mixed_array(hash, data.group_begin);
  for (const std::string& label : data.labels) hash = mixed_bytes(hash, label.data(), label.size());
  return hash;
}

Json data_record(const std::string& path, const Dataset& data) {
  return {{"path", path},
          {"rows", data.examples()},
          {"features", data.features.columns()},
          {"classes", data.classes()},
          {"hash", fmt::format("{:016x}", fingerprint(data))}};
}

void check_same_data(const std::string& run, const std::string& key, const Json& now) {
  const Json record = read_record(run);
  if (record.is_null() || !record.contains(key) || record[key].is_null()) return;
  if (record[key].value("hash", "") == now["hash"].get<std::string>()) return;
  throw_error("--resume: {} is not the data the run in {} was started with (hash {}, found {})",
              now["path"].get<std::string>(), run, runtime::shortened(record[key].value("hash", "")),
              now["hash"].get<std::string>());
}

std::string run_of_model(const std::string& model) {
  const fs::path path = fs::absolute(model);
  const fs::path run = fs::is_directory(path) ? path : path.parent_path();
  const bool is_its_model =
      fs::is_directory(path) || path.filename() == kModelName || path.filename() == kModelIndexName;
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

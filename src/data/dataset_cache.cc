#include "data/dataset_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/atomic_file.h"
#include "base/failure.h"
#include "base/json_text.h"
#include "data/example_source.h"
#include "data/input/sniff.h"
#include "data/input/source.h"
#include "data/string_index.h"
#include "math/process/communicator.h"

namespace selfnorm {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr const char* kRecord = "entry.json";
constexpr double kUsualExpansion = 4;                   // of compressed text
constexpr uint64_t kSampled = 64, kSampleBytes = 4096;  // parts of a file that are looked at

// Size, time of the last change, and a hash of parts from its first to its last bytes.
Json file_record(const std::string& path) {
  struct stat status {};
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) {
    const int reason = errno;
    if (descriptor >= 0) ::close(descriptor);
    throw_error("cannot read {}: {}", path, std::strerror(reason));
  }
  const auto size = static_cast<uint64_t>(status.st_size);
  uint64_t hash = hash_bytes("");
  std::string part(kSampleBytes, '\0');
  for (uint64_t i = 0; i < kSampled && S_ISREG(status.st_mode); ++i) {
    const uint64_t last = size - std::min(size, kSampleBytes);
    const uint64_t at = last / (kSampled - 1) * i + last % (kSampled - 1) * i / (kSampled - 1);
    const ssize_t n = ::pread(descriptor, part.data(), part.size(), static_cast<off_t>(at));
    const uint64_t found = hash_bytes(std::string_view(part.data(), n > 0 ? static_cast<size_t>(n) : 0));
    hash = hash_bytes(fmt::format("{} {}", hash, found));
  }
  ::close(descriptor);
  if (!S_ISREG(status.st_mode))
    throw_error("`cache` needs files that can be read again; {} is none: store the data in a file", path);
  return {{"path", fs::absolute(path).string()},
          {"size", size},
          {"time", fmt::format("{}.{:09}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec)},
          {"parts", fmt::format("{:016x}", hash)}};
}

Json options_record(const ReadOptions& o) {
  Json out = {{"format", format_name(o.format)},
              {"require_labels", o.require_labels},
              {"keep_unseen", o.keep_unseen},
              {"skip_bad", o.skip_bad},
              {"classes", o.classes},
              {"schema", o.schema != nullptr}};
  if (o.schema == nullptr) return out;
  uint64_t hash = hash_bytes(fmt::format("{} {}", o.schema->feature_count, o.schema->is_joint));
  for (const std::string& label : o.schema->labels) hash = hash_bytes(fmt::format("{} {}", hash, label));
  out["schema"] = fmt::format("{:016x}", hash);
  return out;
}

struct NamedFile {
  std::string name;
  std::shared_ptr<NumberFile> file;
};

template <class T>
NamedFile named(const std::string& name, const StoredArray<T>& values, const std::string& folder) {
  if (values.file()) return {name, values.file()};
  auto file = std::make_shared<NumberFile>(folder);
  file->append(values.data(), values.size() * sizeof(T));
  file->seal();
  return {name, std::move(file)};
}

void append_files(const Dataset& data, const std::string& prefix, const std::string& folder,
                  std::vector<NamedFile>& out) {
  const SparseMatrix& x = data.features.sparse;
  out.push_back(named(prefix + "begin", x.begin, folder));
  out.push_back(named(prefix + "column", x.column, folder));
  out.push_back(named(prefix + "value", x.value, folder));
  out.push_back(named(prefix + "target", data.target, folder));
}

// What was found at a place: its record and arrays, or why there is nothing.
class Entry {
 public:
  Entry(std::string place, const Json& made_of, bool verifies) : place_(std::move(place)) {
    try {
      read(made_of, verifies);
    } catch (const Error& error) {
      doubt_ = error.what();
    } catch (const Json::exception&) {
      doubt_ = fmt::format("{} is damaged", kRecord);
    }
  }

  bool is_there() const { return is_there_ && doubt_.empty(); }
  const std::string& doubt() const { return doubt_; }  // of what is there and cannot be used
  const Json& record() const { return record_; }

  template <class T>
  StoredArray<T> array(const std::string& name) const {
    for (const NamedFile& of : files_)
      if (of.name == name) return StoredArray<T>(of.file);
    throw_error("{} lacks '{}'", place_, name);
  }
  Dataset dataset(const std::string& prefix) const {
    Dataset out;
    out.features.sparse.columns = record_.at("columns").get<uint32_t>();
    out.features.sparse.begin = array<uint64_t>(prefix + "begin");
    out.features.sparse.column = array<uint32_t>(prefix + "column");
    out.features.sparse.value = array<float>(prefix + "value");
    out.target = array<uint32_t>(prefix + "target");
    out.stored_in = place_;
    return out;
  }

 private:
  void read(const Json& made_of, bool verifies) {
    std::ifstream file(place_ + "/" + kRecord, std::ios::binary);
    if (!file) return;
    is_there_ = true;
    const std::string text(std::istreambuf_iterator<char>(file), {});
    // The record ends with its own digest.
    const size_t end = text.rfind('\n');
    if (end == std::string::npos ||
        text.substr(end + 1) != fmt::format("{:016x}", hash_bytes(text.substr(0, end))))
      throw_error("{} is damaged", kRecord);
    record_ = bounded_json<Json>(text.substr(0, end));
    if (record_.at("version") != kVersion) throw Error("it is of another version of selfnorm");
    if (record_.at("made_of") != made_of)
      throw Error("the data or the options of reading are not those that it was made of");
    for (const auto& [name, of] : record_.at("arrays").items()) {
      auto array = NumberFile::open(place_ + "/" + name, fs::path(place_).parent_path().string());
      if (array->size() != of.at("size").get<uint64_t>())
        throw_error("'{}' has {} bytes, expected {}", name, array->size(), of.at("size").get<uint64_t>());
      if (verifies && array->digest() != of.at("digest").get<std::string>())
        throw_error("'{}' is damaged", name);
      files_.push_back({name, std::move(array)});
    }
  }

  std::string place_, doubt_;
  bool is_there_ = false;
  Json record_;
  std::vector<NamedFile> files_;
};

// Names for the files, and the record; the folder is renamed to its place.
void keep(const std::string& place, Json record, const std::vector<NamedFile>& files) {
  Json arrays = Json::object();
  for (const NamedFile& of : files)
    arrays[of.name] = {{"size", of.file->size()}, {"digest", of.file->digest()}};
  record["arrays"] = std::move(arrays);
  std::string building = place + ".XXXXXX";
  if (::mkdtemp(building.data()) == nullptr)
    throw_error("cannot make a folder beside {}: {}", place, std::strerror(errno));
  std::error_code error;
  try {
    for (const NamedFile& of : files) of.file->link(building + "/" + of.name);
    const std::string text = record.dump(1);
    AtomicFile::write_file(building + "/" + kRecord, fmt::format("{}\n{:016x}", text, hash_bytes(text)));
    fs::permissions(building, fs::perms(0755), error);
    fs::remove_all(place, error);
    if (::rename(building.c_str(), place.c_str()) != 0)
      throw_error("cannot rename {} to {}: {}", building, place, std::strerror(errno));
  } catch (...) {
    fs::remove_all(building, error);
    throw;
  }
}

// The entry of this place: found, or made. `make` keeps it there.
Entry entry_of(const std::string& place, const Json& made_of,
               const std::function<void(const std::string&)>& make) {
  const auto find_or_make = [&] {
    Entry found(place, made_of, true);
    if (found.is_there()) return;
    make(found.doubt());
  };
  Communicator* const all = current_communicator();
  if (all == nullptr) {
    find_or_make();
  } else {
    all->share_work(
        [&] {
          if (all->is_first()) find_or_make();
        },
        {});
    all->share_work(
        [&] {
          if (!all->is_first() && !Entry(place, made_of, false).is_there()) find_or_make();
        },
        {});
  }
  Entry out(place, made_of, false);
  if (!out.is_there())
    throw_error("cannot read {} again: {}", place, out.doubt().empty() ? "it is gone" : out.doubt());
  return out;
}

Json report_record(const ReadReport& r) {
  Json bad = Json::array();
  for (const BadRow& row : r.bad) bad.push_back({row.line, row.message});
  return {{"format", format_name(r.format)},
          {"rows", r.rows},
          {"bytes", r.bytes},
          {"bad", std::move(bad)},
          {"left_out", r.left_out},
          {"notes", r.notes},
          {"unseen", {r.unseen.examples, r.unseen.first, r.unseen.label}}};
}

ReadReport report_of(const Json& record) {
  ReadReport out;
  out.format = format_from_name(record.at("format").get<std::string>());
  out.rows = record.at("rows").get<uint64_t>();
  out.bytes = record.at("bytes").get<uint64_t>();
  for (const Json& row : record.at("bad"))
    out.bad.push_back({row.at(0).get<uint64_t>(), row.at(1).get<std::string>()});
  record.at("left_out").get_to(out.left_out);
  record.at("notes").get_to(out.notes);
  const Json& unseen = record.at("unseen");
  out.unseen = {unseen.at(0).get<uint64_t>(), unseen.at(1).get<uint64_t>(), unseen.at(2).get<std::string>()};
  return out;
}

}  // namespace

double estimated_memory(const std::string& path, const ReadOptions& options) {
  if (path == "-") return 0;
  double bytes = 0;
  std::error_code error;
  for (const std::string& file : files_of_path(path)) {
    if (!fs::is_regular_file(file, error)) return 0;
    const auto input = open_rows(file, options);
    if ((options.format == Format::automatic ? detect_format(*input, options) : options.format) !=
        Format::svmlight)
      return 0;
    const std::string_view head = input->peek(size_t{1} << 20);
    if (head.find(" qid:") != std::string_view::npos) return 0;
    const double entries = static_cast<double>(std::ranges::count(head, ':')),
                 rows = static_cast<double>(std::ranges::count(head, '\n')),
                 expansion = input->storage() ? 1 : kUsualExpansion;
    bytes += (8 * entries + 12 * rows) / static_cast<double>(std::max<size_t>(1, head.size())) * expansion *
             static_cast<double>(fs::file_size(file, error));
  }
  return bytes;
}

ReadResult read_cached(const std::string& path, const ReadOptions& options) {
  if (path == "-") throw_error("`cache` needs files that can be read again; store the data in a file");
  std::error_code error;
  fs::create_directories(options.cache, error);
  if (!fs::is_directory(options.cache))
    throw_error("cannot make the folder {}: {}", options.cache, error.message());
  Json sources = Json::array();
  for (const std::string& file : files_of_path(path)) sources.push_back(file_record(file));
  const Json made_of = {{"files", sources}, {"options", options_record(options)}};
  // What is read again with other content takes the same place.
  std::string paths = made_of["options"].dump();
  for (const Json& source : sources) paths += source["path"].get<std::string>() + "\n";
  const std::string place =
      fmt::format("{}/{}-{:016x}", fs::absolute(options.cache).lexically_normal().string(),
                  fs::path(sources[0]["path"].get<std::string>()).stem().string(), hash_bytes(paths));
  bool was_made = false;
  std::string doubt;
  const Entry entry = entry_of(place, made_of, [&](const std::string& why) {
    was_made = true;
    doubt = why;
    ReadOptions reading = options;
    reading.cache.clear();
    reading.spool = options.cache;
    const ReadResult read = read_dataset(path, reading);
    const Dataset& data = read.data;
    std::vector<NamedFile> files;
    append_files(data, "", options.cache, files);
    files.push_back(named<uint64_t>("numbers", data.numbers.skipped(), options.cache));
    keep(place,
         {{"version", kVersion},
          {"made_of", made_of},
          {"columns", data.features.columns()},
          {"labels", data.labels.are_numbers() ? Json(data.labels.size()) : Json(data.labels.all())},
          {"report", report_record(read.report)}},
         files);
  });
  ReadResult out;
  out.data = entry.dataset("");
  const Json& labels = entry.record().at("labels");
  out.data.labels = labels.is_number() ? ClassNames::numbers(labels.get<uint32_t>())
                                       : ClassNames(labels.get<std::vector<std::string>>());
  const auto skipped = entry.array<uint64_t>("numbers");
  for (const uint64_t rows : skipped) out.data.numbers.skip(rows);
  out.report = report_of(entry.record().at("report"));
  const double bytes = 8 * static_cast<double>(out.data.features.sparse.column.size());
  if (!doubt.empty()) out.report.notes.push_back(fmt::format("{}: made anew, because {}", place, doubt));
  out.report.notes.push_back(fmt::format(
      "rows are read from {} ({}, {})", place, was_made ? "written now" : "there already",
      bytes < 1e9 ? fmt::format("{:.2f} MB", bytes / 1e6) : fmt::format("{:.2f} GB", bytes / 1e9)));
  return out;
}

CachedSplit cached_split(const Dataset& data, double fraction, uint64_t seed, uint64_t stream) {
  SELFNORM_CHECK(!data.stored_in.empty());
  std::ifstream file(data.stored_in + "/" + kRecord, std::ios::binary);
  const std::string of(std::istreambuf_iterator<char>(file), {});
  const Json made_of = {{"rows", of.substr(of.rfind('\n') + 1)},
                        {"hold_out", fmt::format("{:a}", fraction)},
                        {"seed", seed},
                        {"stream", stream}};
  const std::string place = data.stored_in + "-split";
  const std::string folder = fs::path(place).parent_path().string();
  const Entry entry = entry_of(place, made_of, [&](const std::string&) {
    std::vector<uint64_t> places = random_held_out(data.examples(), fraction, seed, stream);
    std::vector<NamedFile> files;
    append_files(subset_in_files(data, places, Listed::are_taken, folder), "valid-", folder, files);
    append_files(subset_in_files(data, places, Listed::are_left_out, folder), "train-", folder, files);
    files.push_back(named<uint64_t>("places", std::move(places), folder));
    keep(place, {{"version", kVersion}, {"made_of", made_of}, {"columns", data.features.columns()}}, files);
  });
  CachedSplit out{entry.dataset("train-"), entry.dataset("valid-"), {}};
  const auto places = entry.array<uint64_t>("places");
  out.places.assign(places.begin(), places.end());
  for (Dataset* part : {&out.kept, &out.held_out}) {
    part->labels = data.labels;
    part->feature_names = data.feature_names;
  }
  return out;
}

RunCache::RunCache(const std::string& run)
    : folder_((fs::path(run).parent_path() / fmt::format(".selfnorm-rows-{}", ::getpid())).string()),
      is_remover_(is_first_process()) {
  if (Communicator* const all = current_communicator()) folder_ = all->from_first(folder_);
}

RunCache::~RunCache() {
  std::error_code error;
  if (is_remover_) fs::remove_all(folder_, error);
}

void RunCache::forget_names() const {
  any_process(false);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) fs::remove_all(entry.path(), error);
}

}  // namespace selfnorm

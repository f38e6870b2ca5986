#include "data/dataset_cache.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
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

constexpr int kVersion = 2;
constexpr const char* kRecord = "entry.json";
constexpr const char* kLock = ".lock";    // of a folder: held by who makes an entry
constexpr const char* kRunLock = ".run";  // of a folder of one run: held by its processes
constexpr std::string_view kRunFolder = ".selfnorm-rows-";
constexpr double kUsualExpansion = 4;                   // of compressed text
constexpr uint64_t kSampled = 64, kSampleBytes = 4096;  // parts of a file that are looked at

std::string time_text(const timespec& t) { return fmt::format("{}.{:09}", t.tv_sec, t.tv_nsec); }

// Size, times, inode, and a hash of parts from its first to its last bytes. Its content cannot be changed
// without the time of change (ctime), which nobody can set. The number of the device is left out: it differs
// between the machines, and the mounts, that see the file.
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
          {"time", time_text(status.st_mtim)},
          {"changed", time_text(status.st_ctim)},
          {"inode", static_cast<uint64_t>(status.st_ino)},
          {"parts", fmt::format("{:016x}", hash)}};
}

// With those that svmlight has no use for: data that are read with them are an error, and no entry is found
// that was made without.
Json options_record(const ReadOptions& o) {
  Json out = {{"format", format_name(o.format)},
              {"not_used",
               {o.target, o.weight_column, static_cast<int>(o.header), o.labels_path, o.text_columns,
                o.categorical, o.dropped}},
              {"require_labels", o.require_labels},
              {"keep_unseen", o.keep_unseen},
              {"skip_bad", o.skip_bad},
              {"classes", o.classes},
              {"schema", o.schema != nullptr}};
  if (o.schema == nullptr) return out;
  uint64_t hash = hash_bytes(
      fmt::format("{} {} {}", o.schema->feature_count, o.schema->is_joint, o.schema->table.has_value()));
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

// This one, or that for temporary files.
std::string writable_folder(const std::string& folder) {
  std::error_code error;
  const fs::path other = fs::temp_directory_path(error);
  return ::access(folder.c_str(), W_OK | X_OK) == 0 || error ? folder : other.string();
}

// What was found at a place: its record and arrays, or why there is nothing. They are those of one folder,
// whatever takes its place meanwhile.
class Entry {
 public:
  Entry(std::string place, const Json& made_of, bool verifies) : place_(std::move(place)) {
    const int folder = ::open(place_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    try {
      read(fmt::format("/proc/self/fd/{}", folder), made_of, verifies);
    } catch (const Error& error) {
      doubt_ = error.what();
    } catch (const Json::exception&) {
      doubt_ = fmt::format("{} is damaged", kRecord);
    }
    ::close(folder);
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
    out.stored_as = digest_;
    return out;
  }

 private:
  void read(const std::string& folder, const Json& made_of, bool verifies) {
    std::ifstream file(folder + "/" + kRecord, std::ios::binary);
    if (!file) return;
    is_there_ = true;
    const std::string text(std::istreambuf_iterator<char>(file), {});
    // The record ends with its own digest.
    const size_t end = text.rfind('\n');
    if (end == std::string::npos ||
        text.substr(end + 1) != fmt::format("{:016x}", hash_bytes(text.substr(0, end))))
      throw_error("{} is damaged", kRecord);
    digest_ = text.substr(end + 1);
    record_ = bounded_json<Json>(text.substr(0, end));
    if (record_.at("version") != kVersion) throw Error("it is of another version of selfnorm");
    if (record_.at("made_of") != made_of)
      throw Error("the data or the options of reading are not those that it was made of");
    const std::string beside = writable_folder(fs::path(place_).parent_path().string());
    for (const auto& [name, of] : record_.at("arrays").items()) {
      const std::string path = folder + "/" + name;
      if (::access(path.c_str(), R_OK) != 0)
        throw_error("'{}' cannot be read: {}", name, std::strerror(errno));
      auto array = NumberFile::open(path, beside);
      if (array->size() != of.at("size").get<uint64_t>())
        throw_error("'{}' has {} bytes, expected {}", name, array->size(), of.at("size").get<uint64_t>());
      if (verifies && array->digest() != of.at("digest").get<std::string>())
        throw_error("'{}' is damaged", name);
      files_.push_back({name, std::move(array)});
    }
  }

  std::string place_, doubt_, digest_;
  bool is_there_ = false;
  Json record_;
  std::vector<NamedFile> files_;
};

// What a run that was killed while it kept an entry has left beside its place.
void remove_leftovers(const std::string& place) {
  const fs::path at(place);
  const std::string begin = at.filename().string() + ".";
  std::vector<fs::path> left;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(at.parent_path(), error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(begin) && name.size() == begin.size() + 6) left.push_back(entry.path());
  }
  for (const fs::path& path : left) fs::remove_all(path, error);
}

// Takes its place; what was there goes, and whoever reads it keeps what is mapped.
bool put(const std::string& building, const std::string& place) {
  std::error_code error;
  if (::rename(building.c_str(), place.c_str()) == 0) return true;
  if (::renameat2(AT_FDCWD, building.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(building, error);
    return true;
  }
  fs::remove_all(place, error);  // of file systems that cannot exchange
  return ::rename(building.c_str(), place.c_str()) == 0;
}

// Names for the files, and the record; the folder is renamed to its place. Returns what is there then.
Entry keep(const std::string& place, Json record, const std::vector<NamedFile>& files) {
  Json arrays = Json::object();
  for (const NamedFile& of : files) {
    of.file->sync();
    arrays[of.name] = {{"size", of.file->size()}, {"digest", of.file->digest()}};
  }
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
    const bool is_put = put(building, place);
    const int reason = errno;
    if (!is_put) fs::remove_all(building, error);
    Entry out(place, record.at("made_of"), !is_put);  // where there are no locks, perhaps another run's
    if (!out.is_there())
      throw_error("cannot put an entry at {}: {}", place, is_put ? out.doubt() : std::strerror(reason));
    return out;
  } catch (...) {
    fs::remove_all(building, error);
    throw;
  }
}

// make(), with an error that says what to do where the disk is full.
template <class Make>
auto with_room(const std::string& folder, double bytes, const Make& make) {
  try {
    return make();
  } catch (const DiskFull& full) {
    struct statvfs disk {};
    const double free = ::statvfs(folder.c_str(), &disk) == 0
                            ? static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize)
                            : 0;
    throw_error(
        "{}; the files take about {:.3g} MB, and {:.3g} MB are free there: make room, or give a folder of a "
        "larger disk (`cache DIR`)",
        full.what(), bytes / 1e6, free / 1e6);
  }
}

// What the first process does, or all others do; what is thrown in one is thrown in all.
void in_process(bool is_first, const std::function<void()>& work) {
  Communicator* const all = current_communicator();
  const auto own = [&, here = is_first_process()] {
    if (here == is_first) work();
  };
  if (all == nullptr) return own();
  all->share_work(own, {});
}

// The entry of this place: found, or made. `make` keeps it there and returns it.
Entry entry_of(const std::string& place, const Json& made_of,
               const std::function<Entry(const std::string&)>& make) {
  std::optional<Entry> out;
  const auto find = [&](bool verifies) {
    out.emplace(place, made_of, verifies);
    return out->is_there();
  };
  const auto find_or_make = [&] {
    if (find(true)) return;
    const LockFile lock(fs::path(place).parent_path().string(), kLock, LOCK_EX);
    if (!find(true)) {
      if (lock.is_held()) remove_leftovers(place);
      out.emplace(make(out->doubt()));
    }
  };
  in_process(true, find_or_make);
  in_process(false, [&] {
    if (!find(false)) find_or_make();
  });
  return *std::move(out);
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

// Of runs that were killed.
void remove_run_folders(const fs::path& beside) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(beside, error))
    if (entry.path().filename().string().starts_with(kRunFolder)) found.push_back(entry.path());
  for (const fs::path& folder : found) {
    const int lock = ::open((folder / kRunLock).c_str(), O_RDWR | O_CLOEXEC);
    if (lock < 0) ::rmdir(folder.c_str());
    if (lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) == 0) fs::remove_all(folder, error);
    if (lock >= 0) ::close(lock);
  }
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
    return with_room(options.cache, estimated_memory(path, options), [&] {
      const ReadResult read = read_dataset(path, reading);
      const Dataset& data = read.data;
      std::vector<NamedFile> files;
      append_files(data, "", options.cache, files);
      files.push_back(named<uint64_t>("numbers", data.numbers.skipped(), options.cache));
      return keep(place,
                  {{"version", kVersion},
                   {"made_of", made_of},
                   {"columns", data.features.columns()},
                   {"labels", data.labels.are_numbers() ? Json(data.labels.size()) : Json(data.labels.all())},
                   {"report", report_record(read.report)}},
                  files);
    });
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
  const Json how = {{"hold_out", fmt::format("{:a}", fraction)}, {"seed", seed}, {"stream", stream}};
  const Json made_of = {{"rows", data.stored_as}, {"how", how}};
  const std::string place = fmt::format("{}-split-{:016x}", data.stored_in, hash_bytes(how.dump()));
  const std::string folder = fs::path(place).parent_path().string();
  const std::string beside = writable_folder(folder);
  const double bytes =
      8 * static_cast<double>(data.features.sparse.column.size()) + 12 * static_cast<double>(data.examples());
  const auto split = [&] {
    return with_room(beside, bytes, [&] {
      CachedSplit out;
      out.places = random_held_out(data.examples(), fraction, seed, stream);
      out.held_out = subset_in_files(data, out.places, Listed::are_taken, beside);
      out.kept = subset_in_files(data, out.places, Listed::are_left_out, beside);
      return out;
    });
  };
  CachedSplit out;
  if (any_process(beside != folder && !Entry(place, made_of, false).is_there())) {
    out = split();
  } else {
    const Entry entry = entry_of(place, made_of, [&](const std::string&) {
      CachedSplit made = split();
      return with_room(folder, bytes, [&] {
        std::vector<NamedFile> files;
        append_files(made.held_out, "valid-", folder, files);
        append_files(made.kept, "train-", folder, files);
        files.push_back(named<uint64_t>("places", std::move(made.places), folder));
        return keep(place,
                    {{"version", kVersion}, {"made_of", made_of}, {"columns", data.features.columns()}},
                    files);
      });
    });
    out = {entry.dataset("train-"), entry.dataset("valid-"), {}};
    const auto places = entry.array<uint64_t>("places");
    out.places.assign(places.begin(), places.end());
    // All have mapped it; in a folder of one run it needs no names any more.
    std::error_code error;
    if (any_process(fs::exists(fs::path(folder) / kRunLock))) fs::remove_all(place, error);
  }
  for (Dataset* part : {&out.kept, &out.held_out}) {
    part->labels = data.labels;
    part->feature_names = data.feature_names;
  }
  return out;
}

RunCache::RunCache(const std::string& run) {
  const fs::path beside = fs::absolute(run).lexically_normal().parent_path();
  std::error_code error;
  const auto take = [&] { lock_ = std::make_unique<LockFile>(folder_, kRunLock, LOCK_SH); };
  const auto make = [&] {
    fs::create_directories(beside, error);
    remove_run_folders(beside);
    folder_ = (beside / kRunFolder).string() + "XXXXXX";
    if (::mkdtemp(folder_.data()) == nullptr)
      throw_error("cannot make a folder for rows in {}: {}", beside.string(), std::strerror(errno));
    take();
  };
  in_process(true, make);
  if (Communicator* const all = current_communicator())
    folder_ = (beside / all->from_first(fs::path(folder_).filename().string())).string();
  in_process(false, take);
}

RunCache::~RunCache() {
  std::error_code error;
  if (lock_ && lock_->is_new()) fs::remove_all(folder_, error);
}

void RunCache::forget_names() const {
  any_process(false);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error))
    if (entry.path().filename() != kRunLock) fs::remove_all(entry.path(), error);
}

}  // namespace selfnorm

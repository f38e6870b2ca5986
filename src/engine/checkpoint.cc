#include "engine/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>

#include "base/failure.h"
#include "math/process/shared_loop.h"
#include "model/stored_record.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm {
namespace {

constexpr const char* kFormat = "selfnorm-checkpoint-1";
// Of a checkpoint in parts; and of a part its classes.
constexpr const char *kGeneration = "generation", *kParts = "parts", *kFirst = "first", *kLast = "last";

std::string part_path(const std::string& path, uint64_t generation, size_t part, size_t parts) {
  const std::filesystem::path of = path;
  return (of.parent_path() /
          fmt::format("{}-{}-{:05}-of-{:05}.safetensors", of.stem().string(), generation, part, parts))
      .string();
}

// visit(file, generation) of all parts in the folder of a checkpoint, unfinished ones too.
void for_each_part(const std::string& path,
                   const std::function<void(const std::filesystem::path&, uint64_t)>& visit) {
  const std::filesystem::path of = path;
  const std::string stem = of.stem().string();
  std::error_code ignored;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(of.parent_path(), ignored))
    files.push_back(entry.path());
  for (const std::filesystem::path& file : files) {
    const std::string whole = file.filename().string(), name = whole.substr(0, whole.find(".tmp-"));
    unsigned long long generation = 0;
    size_t part = 0, parts = 0;
    if (name.starts_with(stem) &&
        std::sscanf(name.c_str() + stem.size(), "-%llu-%zu-of-%zu.safetensors", &generation, &part, &parts) ==
            3 &&
        std::filesystem::path(part_path(path, generation, part, parts)).filename() == name)
      visit(file, generation);
  }
}

[[noreturn]] void missing(const std::string& name) {
  throw_error("the checkpoint has no '{}'; remove it and start again without `resume`", name);
}

[[noreturn]] void damaged(const std::string& name, const std::string& found, const std::string& expected) {
  throw_error("the checkpoint has {} as '{}', expected {}; remove it and start again without `resume`",
              runtime::shortened(found), name, expected);
}

template <class Map>
const auto& entry(const Map& map, const std::string& name) {
  const auto found = map.find(name);
  if (found == map.end()) missing(name);
  return found->second;
}

template <class T>
std::vector<T> values_of(const runtime::Tensor& tensor) {
  std::vector<T> values(tensor.elements());
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

void add_rows(const AttributeRows& rows, Fingerprint& hash) {
  hash.add(rows.begin).add(rows.attribute).add(rows.value);
}

}  // namespace

void Checkpoint::set(const std::string& name, uint64_t value) { text_[name] = fmt::format("{}", value); }
void Checkpoint::set(const std::string& name, double value) { text_[name] = fmt::format("{:a}", value); }
void Checkpoint::set(const std::string& name, const std::vector<double>& values) { doubles_[name] = values; }

const std::string& Checkpoint::text(const std::string& name) const { return entry(text_, name); }
uint64_t Checkpoint::integer(const std::string& name) const {
  const std::string& written = text(name);
  const char* end = written.data() + written.size();
  uint64_t value = 0;
  const auto [stop, error] = std::from_chars(written.data(), end, value);
  if (error != std::errc() || stop != end) damaged(name, written, "a whole number");
  return value;
}
double Checkpoint::number(const std::string& name) const {
  const std::string& written = text(name);
  char* stop = nullptr;
  const double value = std::strtod(written.c_str(), &stop);
  if (written.empty() || stop != written.c_str() + written.size()) damaged(name, written, "a number");
  return value;
}
void Checkpoint::get(const std::string& name, std::vector<float>& values) const {
  const auto view = views_.find(name);
  const std::span<const float> found = view != views_.end() ? view->second : entry(floats_, name);
  if (!values.empty()) check_size(name, found.size(), values.size());
  values.assign(found.begin(), found.end());
}
void Checkpoint::get(const std::string& name, std::vector<double>& values) const {
  const std::vector<double>& found = entry(doubles_, name);
  if (!values.empty()) check_size(name, found.size(), values.size());
  values = found;
}

void Checkpoint::check_size(const std::string& name, size_t found, size_t expected) {
  if (found != expected) damaged(name, fmt::format("{} values", found), fmt::format("{}", expected));
}

void Checkpoint::save(const std::string& path) const {
  std::vector<runtime::Tensor> tensors;
  for (const auto& [name, values] : views_)
    tensors.push_back(make_tensor<float>(name, runtime::Dtype::F32, {values.size()}, values));
  for (const auto& [name, values] : doubles_)
    tensors.push_back(make_tensor<double>(name, runtime::Dtype::F64, {values.size()}, values));
  Metadata metadata(text_.begin(), text_.end());
  metadata["format"] = kFormat;
  write_safetensors(path, std::move(tensors), metadata);
}

void Checkpoint::save_parts(const std::string& path, uint64_t generation) {
  Communicator* const all = current_communicator();
  const size_t count = all == nullptr ? 1 : static_cast<size_t>(all->size()),
               own = all == nullptr ? 0 : static_cast<size_t>(all->rank());
  std::vector<runtime::ChecksumDigits> digits(count);
  const auto write = [&] {
    digits[own] = write_safetensors(part_path(path, generation, own + 1, count), split_,
                                    {{"format", kFormat},
                                     {kGeneration, fmt::format("{}", generation)},
                                     {kFirst, fmt::format("{}", classes_.begin)},
                                     {kLast, fmt::format("{}", classes_.end)}},
                                    {}, [&](std::span<const std::byte> piece) {
                                      for (const runtime::BytesRead& release : release_) release(piece);
                                    });
  };
  if (all == nullptr)
    write();
  else
    all->share_work(write, {shared_array(*all, count, digits.data(), [](size_t part) { return part; })});
  set(kGeneration, generation);
  set(kParts, static_cast<uint64_t>(count));
  for (size_t part = 0; part < count; ++part)
    set(fmt::format("part.{}", part + 1), std::string(digits[part].data(), digits[part].size()));
}

void Checkpoint::load_parts(const std::string& path) {
  const uint64_t generation = integer(kGeneration), count = integer(kParts);
  uint64_t classes = 0;  // so far
  for (uint64_t i = 1; i <= count; ++i) {
    const std::string name = part_path(path, generation, i, count);
    std::optional<runtime::MappedFile> file;
    try {
      file.emplace(name);
    } catch (const runtime::IoError& error) {
      throw_error("{}; expected all {} parts of {}", error.what(), count, path);
    }
    runtime::Safetensors content = runtime::parse_safetensors(file->bytes(), name);
    const auto number = [&](const char* key) -> uint64_t {
      const auto found = content.metadata.find(key);
      return found == content.metadata.end() ? UINT64_MAX : std::strtoull(found->second.c_str(), nullptr, 10);
    };
    const std::string& digits = text(fmt::format("part.{}", i));
    const std::string_view bytes(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    const Range own{number(kFirst), number(kLast)};
    if (number(kGeneration) != generation || own.begin != classes || own.end < own.begin ||
        bytes.size() < runtime::kChecksumOffset ||
        bytes.substr(runtime::kChecksumOffset, digits.size()) != digits)
      throw_error("{}: found a part of another checkpoint, expected part {} of {} of {}", name, i, count,
                  path);
    classes = own.end;
    parts_.push_back({name, std::move(*file), std::move(content), own});
  }
}

const runtime::Tensor& Checkpoint::part_tensor(const Part& part, const std::string& name) const {
  if (!part.is_verified) {
    part.file.expect_scan();
    with_plain_errors([&] {
      runtime::require_checksum(part.file.bytes(), part.path,
                                with_options("; start again without `resume`").c_str(),
                                part.file.gives_back());
    });
    part.is_verified = true;
  }
  const runtime::Tensor* const found = part.content.find(name);
  if (found == nullptr) missing(name);
  return *found;
}

template <class Real>
void Checkpoint::get_split(const std::string& name, const ClassShard& shard, SplitShape shape,
                           const std::function<void(size_t size)>& room,
                           const std::function<void(size_t at, std::span<const Real>)>& take) const {
  const Range own = shard.own();
  if (parts_.empty()) missing(name);
  if (parts_.back().classes.end != shard.classes())
    damaged(name, fmt::format("{} classes", parts_.back().classes.end), fmt::format("{}", shard.classes()));
  const auto values_of_part = [&](const Part& part) -> std::span<const Real> {
    const runtime::Tensor& tensor = part_tensor(part, name);
    if (runtime::item_size(tensor.dtype) != sizeof(Real)) damaged(name, "other numbers", "those of the run");
    return {reinterpret_cast<const Real*>(tensor.data.data()), tensor.elements()};
  };
  const std::span<const Real> first = values_of_part(parts_[0]);
  const size_t in_rows = shape.rows * parts_[0].classes.size() * shape.each;
  if (first.empty() && in_rows > 0) return room(0);  // and so in all parts
  check_size(name, std::max(first.size(), in_rows), first.size());
  const std::span<const Real> behind = first.subspan(in_rows);
  const size_t row = own.size() * shape.each;
  room(shape.rows * row + behind.size());
  take(shape.rows * row, behind);
  for (const Part& part : parts_) {
    const Range shared{std::max(own.begin, part.classes.begin), std::min(own.end, part.classes.end)};
    if (shared.begin >= shared.end) continue;
    const std::span<const Real> values = values_of_part(part);
    const size_t width = part.classes.size() * shape.each;
    check_size(name, values.size(), shape.rows * width + behind.size());
    const runtime::BytesRead release = part.file.gives_back();
    for (size_t j = 0; j < shape.rows; ++j) {
      size_t at = j * row + (shared.begin - own.begin) * shape.each;
      const size_t from = j * width + (shared.begin - part.classes.begin) * shape.each;
      runtime::for_each_piece(std::as_bytes(values.subspan(from, shared.size() * shape.each)),
                              [&](std::span<const std::byte> piece) {
                                const size_t n = piece.size() / sizeof(Real);
                                take(at, {reinterpret_cast<const Real*>(piece.data()), n});
                                at += n;
                                if (release) release(piece);
                              });
    }
  }
}
template void Checkpoint::get_split(const std::string&, const ClassShard&, SplitShape,
                                    const std::function<void(size_t)>&,
                                    const std::function<void(size_t, std::span<const float>)>&) const;
template void Checkpoint::get_split(const std::string&, const ClassShard&, SplitShape,
                                    const std::function<void(size_t)>&,
                                    const std::function<void(size_t, std::span<const double>)>&) const;

uint64_t next_checkpoint_generation(const std::string& path) {
  uint64_t last = 0;
  for_each_part(
      path, [&](const std::filesystem::path&, uint64_t generation) { last = std::max(last, generation); });
  return last + 1;
}

// Also a run that is set aside (NAME.replaced) has its own.
void remove_checkpoint_parts(const std::string& path) {
  std::set<uint64_t> named;
  for (const char* ending : {"", ".replaced"}) {
    std::error_code error;
    if (!std::filesystem::exists(path + ending, error)) continue;
    try {
      const runtime::MappedFile file(path + ending);
      const runtime::Safetensors content = runtime::parse_safetensors(file.bytes(), path);
      if (const auto found = content.metadata.find(kGeneration); found != content.metadata.end())
        named.insert(std::strtoull(found->second.c_str(), nullptr, 10));
    } catch (const std::runtime_error&) {
      return;  // who knows which it names
    }
  }
  for_each_part(path, [&](const std::filesystem::path& part, uint64_t generation) {
    std::error_code ignored;
    if (!named.contains(generation)) std::filesystem::remove(part, ignored);
  });
}

Checkpoint Checkpoint::load(const std::string& path) {
  Checkpoint out;
  try {
    const runtime::MappedFile file(path);
    file.expect_scan();
    const runtime::Safetensors parsed = runtime::parse_safetensors(file.bytes(), path);
    runtime::require_checksum(file.bytes(), path, "");
    for (const auto& [name, value] : parsed.metadata) out.text_[name] = value;
    for (const runtime::Tensor& tensor : parsed.tensors) {
      if (tensor.dtype == runtime::Dtype::F32) out.floats_[tensor.name] = values_of<float>(tensor);
      if (tensor.dtype == runtime::Dtype::F64) out.doubles_[tensor.name] = values_of<double>(tensor);
    }
  } catch (const std::runtime_error& e) {
    throw_error("{}; start again without `resume`", e.what());
  }
  const auto format = out.text_.find("format");
  if (format == out.text_.end() || format->second != kFormat)
    throw_error("{}: expected a checkpoint of this version of selfnorm ({}); start again without `resume`",
                path, kFormat);
  try {
    if (out.text_.contains(kParts)) out.load_parts(path);
  } catch (const std::runtime_error& e) {
    throw_error("{}; start again without `resume`", e.what());
  }
  return out;
}

Fingerprint& Fingerprint::add_bytes(const void* data, size_t size) {
  mix(size);
  add_words(data, size);
  if (size % 8 == 0) mix(0);
  return *this;
}

void Fingerprint::add_words(const void* data, size_t size) {
  const char* bytes = static_cast<const char*>(data);
  for (; size >= 8; bytes += 8, size -= 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    mix(word);
  }
  uint64_t rest = 0;
  if (size == 0) return;
  std::memcpy(&rest, bytes, size);
  mix(rest);
}

Fingerprint& Fingerprint::add_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return add(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::string Fingerprint::text() const { return fmt::format("{:016x}", state_); }

std::string fingerprint(const Dataset& data, const std::string& options) {
  Fingerprint hash;
  hash.add(options).add(data.features.dense.values);
  const SparseMatrix& x = data.features.sparse;
  hash.add(x.begin).add(x.column).add(x.value).add(data.target).add(data.weight).add(data.group_begin);
  for (const std::string& label : data.labels) hash.add(label);
  return hash.text();
}

std::string fingerprint(const Sequences& data, const std::string& options) {
  Fingerprint hash;
  hash.add(options).add(data.sentence_begin);
  add_rows(data.unigram, hash);
  add_rows(data.bigram, hash);
  return hash.add(data.label).text();
}

}  // namespace selfnorm

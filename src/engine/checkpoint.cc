#include "engine/checkpoint.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>

#include "base/failure.h"
#include "model/safetensors_writer.h"
#include "selfnorm/runtime/checksum.h"
#include "selfnorm/runtime/mapped_file.h"
#include "selfnorm/runtime/safetensors.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm {
namespace {

constexpr const char* kFormat = "selfnorm-checkpoint-1";

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

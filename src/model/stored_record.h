// What the model files of densities and regressors share: their family, and records of networks
// (model/energy/energy.h) inside a safetensors file. The record <name> has metadata <name> (its kind) and
// <name>_settings (JSON), tensors <name>.<tensor> F32 and, with a module, its bytes U8.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/energy/energy.h"
#include "model/model_file.h"
#include "model/safetensors_writer.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/layout_reader.h"
#include "selfnorm/runtime/mapped_file.h"
#include "selfnorm/runtime/string_table.h"

namespace selfnorm {

// What the metadata of a safetensors file of ours say that it is; all empty for anything else.
struct FileIdentity {
  std::string family, input;
};
FileIdentity identity_of(const std::string& path);

// Throws FormatError unless format, version and family are those; `expected` names the model in words.
void check_family(const runtime::LayoutReader& reader, std::string_view family, const std::string& expected);

// A whole tensor of this dtype, whatever its shape.
template <class T>
std::vector<T> values_of(const runtime::LayoutReader& reader, const runtime::Tensor& tensor,
                         runtime::Dtype dtype) {
  const std::span<const T> values = reader.tensor<T>(tensor.name, dtype, tensor.shape);
  return {values.begin(), values.end()};
}
// F64, n of them.
inline std::vector<double> stored_doubles(const runtime::LayoutReader& reader, const std::string& name,
                                          uint64_t n) {
  const std::span<const double> values = reader.tensor<double>(name, runtime::Dtype::F64, {n});
  return {values.begin(), values.end()};
}
// A list of `n` strings; empty when it is not there.
std::vector<std::string> stored_strings(const runtime::LayoutReader& reader, const std::string& name,
                                        uint64_t n);

// `module` names the tensor of the bytes. The tensors point into the record.
void add_record(const EnergyRecord& record, const std::string& name, const std::string& module,
                Metadata& metadata, std::vector<runtime::Tensor>& tensors);
EnergyRecord stored_record(const runtime::LayoutReader& reader, const std::string& name,
                           const std::string& module);

// action() with errors of the runtime as Error.
template <class Action>
auto with_plain_errors(const Action& action) {
  try {
    return action();
  } catch (const runtime::FormatError& error) {
    throw Error(error.what());
  } catch (const runtime::IoError& error) {
    throw Error(error.what());
  }
}

// action() with every error an Error that names the file.
template <class Action>
auto with_errors_of(const std::string& path, const Action& action) {
  try {
    return with_plain_errors(action);
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(path)) throw;
    throw Error(path + ": " + error.what());
  }
}

// read(bytes of the file), which is read from its beginning to its end.
template <class Read>
auto read_mapped(const std::string& path, const Read& read) {
  const runtime::MappedFile file(path);
  file.expect_scan();
  return read(file.bytes());
}

// What models of every family record as JSON.
template <class Model>
void check_records(const Model& model, const std::string& file) {
  check_metadata_json(file, "objective", model.objective_json);
  check_metadata_json(file, "training", model.training_json);
  check_metadata_json(file, "audit", model.audit_json);
}
// And what kind of file it is.
template <class Model>
Metadata model_metadata(std::string_view family, const Model& model) {
  return {{"format", std::string(runtime::kFormat)}, {"format_version", std::string(runtime::kFormatVersion)},
          {"family", std::string(family)},           {"objective", model.objective_json},
          {"training", model.training_json},         {"audit", model.audit_json}};
}
template <class Model>
void read_records(const runtime::LayoutReader& reader, Model& model) {
  model.objective_json = reader.metadata("objective");
  model.training_json = reader.metadata("training");
  model.audit_json = reader.metadata("audit");
}

// A list of strings as model files store it (selfnorm/runtime/string_table.h), to write and to read back.
struct StringColumn {
  std::string bytes;
  std::vector<uint64_t> offsets{0};

  explicit StringColumn(const std::vector<std::string>& strings);

  // <name>.bytes and <name>.offsets, pointing into this; nothing when there are no strings.
  void add_to(std::vector<runtime::Tensor>& tensors, const std::string& name) const;
};

// The slots of selfnorm/runtime/string_table.h, that find the first of equal strings.
std::vector<uint32_t> index_slots(const std::vector<std::string>& strings);

// Of a table whose offsets were checked.
std::vector<std::string> strings_of(const runtime::StringTable& table);

}  // namespace selfnorm

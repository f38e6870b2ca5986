// What the model files of densities and regressors share: their family, and records of networks
// (model/energy/energy.h) inside a safetensors file. The record <name> has metadata <name> (its kind) and
// <name>_settings (JSON), tensors <name>.<tensor> F32 and, with a module, its bytes U8.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "selfnorm/base/error.h"
#include "selfnorm/model/energy/energy.h"
#include "selfnorm/model/safetensors_writer.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/layout_reader.h"

namespace selfnorm {

// Whether the safetensors file at `path` is of this family (by its metadata). False for anything else.
bool is_family_file(const std::string& path, std::string_view family);  // empty: of any
// Throws FormatError unless format, version and family are those; `expected` names the model in words.
void check_family(const runtime::LayoutReader& reader, std::string_view family, const std::string& expected);

// A whole tensor of this dtype, whatever its shape.
template <class T>
std::vector<T> values_of(const runtime::LayoutReader& reader, const runtime::Tensor& tensor,
                         runtime::Dtype dtype) {
  const std::span<const T> values = reader.tensor<T>(tensor.name, dtype, tensor.shape);
  return {values.begin(), values.end()};
}
// A list of `n` strings (model/string_column.h); empty when it is not there.
std::vector<std::string> stored_strings(const runtime::LayoutReader& reader, const std::string& name,
                                        uint64_t n);

// `module` names the tensor of the bytes. The tensors point into the record.
void add_record(const EnergyRecord& record, const std::string& name, const std::string& module,
                Metadata& metadata, std::vector<runtime::Tensor>& tensors);
EnergyRecord stored_record(const runtime::LayoutReader& reader, const std::string& name,
                           const std::string& module);

// action() with every error an Error that names the file.
template <class Action>
auto with_errors_of(const std::string& path, const Action& action) {
  try {
    return action();
  } catch (const runtime::FormatError& error) {
    throw Error(error.what());
  } catch (const runtime::IoError& error) {
    throw Error(error.what());
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(path)) throw;
    throw Error(path + ": " + error.what());
  }
}

}  // namespace selfnorm

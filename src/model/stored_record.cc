#include "model/stored_record.h"

#include <fmt/format.h>

#include <bit>

#include "model/model_file.h"
#include "selfnorm/runtime/mapped_file.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm {

using runtime::Dtype;
using runtime::LayoutReader;
using runtime::Tensor;

FileIdentity identity_of(const std::string& path) {
  try {
    const runtime::MappedFile file(path);
    const runtime::Safetensors content = runtime::parse_safetensors(file.bytes(), path);
    const auto text = [&content](const char* key) {
      const auto found = content.metadata.find(key);
      return found == content.metadata.end() ? std::string() : found->second;
    };
    if (text("format") != runtime::kFormat) return {};
    return {text("family"), text("input")};
  } catch (const runtime::FormatError&) {
    return {};
  } catch (const runtime::IoError&) {
    return {};
  }
}

void check_family(const LayoutReader& reader, std::string_view family, const std::string& expected) {
  for (const auto& [key, value] :
       {std::pair{"format", runtime::kFormat}, std::pair{"format_version", runtime::kFormatVersion},
        std::pair{"family", family}}) {
    if (reader.metadata(key) == value) continue;
    reader.fail(fmt::format("metadata \"{}\" is \"{}\", expected \"{}\"; not {} that this selfnorm reads",
                            key, runtime::shortened(reader.metadata(key)), value, expected));
  }
}

std::vector<std::string> stored_strings(const LayoutReader& reader, const std::string& name, uint64_t n) {
  runtime::ModelLayout layout;
  layout.feature_names = reader.strings(name, n);
  runtime::check_string_tables(layout, reader.name);
  return strings_of(layout.feature_names);
}

void add_record(const EnergyRecord& record, const std::string& name, const std::string& module,
                Metadata& metadata, std::vector<Tensor>& tensors) {
  metadata[name] = record.kind;
  metadata[name + "_settings"] = record.settings;
  for (const EnergyTensor& tensor : record.tensors) {
    tensors.push_back(make_tensor(fmt::format("{}.{}", name, tensor.name), Dtype::F32, tensor.shape,
                                  std::span(tensor.values)));
  }
  if (!record.module.empty())
    tensors.push_back(make_tensor(module, Dtype::U8, {record.module.size()}, std::span(record.module)));
}

EnergyRecord stored_record(const LayoutReader& reader, const std::string& name, const std::string& module) {
  const std::string settings = name + "_settings", prefix = name + ".";
  EnergyRecord record;
  record.kind = reader.metadata(name);
  record.settings = reader.metadata(settings);
  check_metadata_json(reader.name, settings.c_str(), record.settings);
  for (const Tensor& tensor : reader.file.tensors) {
    if (!tensor.name.starts_with(prefix) || tensor.name == module) continue;
    record.tensors.push_back(
        {tensor.name.substr(prefix.size()), tensor.shape, values_of<float>(reader, tensor, Dtype::F32)});
  }
  if (const Tensor* bytes = reader.file.find(module)) {
    const std::vector<uint8_t> values = values_of<uint8_t>(reader, *bytes, Dtype::U8);
    record.module.assign(values.begin(), values.end());
  }
  return record;
}

StringColumn::StringColumn(const std::vector<std::string>& strings) {
  for (const std::string& text : strings) {
    bytes += text;
    offsets.push_back(bytes.size());
  }
}

void StringColumn::add_to(std::vector<runtime::Tensor>& tensors, const std::string& name) const {
  if (offsets.size() == 1) return;
  tensors.push_back(make_tensor(name + ".bytes", runtime::Dtype::U8, {bytes.size()}, std::span(bytes)));
  tensors.push_back(
      make_tensor(name + ".offsets", runtime::Dtype::U64, {offsets.size()}, std::span(offsets)));
}

std::vector<uint32_t> index_slots(const std::vector<std::string>& strings) {
  std::vector<uint32_t> slots(std::bit_ceil(2 * strings.size()), runtime::kEmptySlot);
  for (uint32_t k = 0; k < strings.size(); ++k) {
    uint64_t i = runtime::hash_string(strings[k]) & (slots.size() - 1);
    while (slots[i] != runtime::kEmptySlot && strings[slots[i]] != strings[k])
      i = (i + 1) & (slots.size() - 1);
    if (slots[i] == runtime::kEmptySlot) slots[i] = k;
  }
  return slots;
}

std::vector<std::string> strings_of(const runtime::StringTable& table) {
  std::vector<std::string> out(table.size());
  std::string_view text;
  for (size_t i = 0; i < out.size(); ++i) {
    SELFNORM_CHECK(table.get(i, text));
    out[i] = text;
  }
  return out;
}

}  // namespace selfnorm

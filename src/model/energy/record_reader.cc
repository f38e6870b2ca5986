#include "model/energy/record_reader.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/failure.h"

namespace selfnorm {

struct RecordReader::Settings {
  nlohmann::json json;

  template <class Value>
  Value get(const RecordReader& reader, const char* name) const {
    try {
      return json.at(name).get<Value>();
    } catch (const nlohmann::json::exception&) {
      reader.fail(fmt::format("setting '{}' is missing or of the wrong kind", name));
    }
  }
};

RecordReader::RecordReader(const EnergyRecord& record, std::string what, const std::string& kind)
    : record_(record), what_(std::move(what)) {
  if (record.kind != kind) fail(fmt::format("its kind is '{}', expected '{}'", record.kind, kind));
  settings_ = std::make_unique<Settings>(Settings{nlohmann::json::parse(record.settings, nullptr, false)});
  if (!settings_->json.is_object()) fail("its settings are no JSON object");
}

RecordReader::~RecordReader() = default;

void RecordReader::fail(const std::string& why) const {
  throw_error("{}: {}; the model file is damaged or from another program", what_, why);
}

double RecordReader::number(const char* name) const { return settings_->get<double>(*this, name); }
bool RecordReader::flag(const char* name) const { return settings_->get<bool>(*this, name); }
std::string RecordReader::word(const char* name) const { return settings_->get<std::string>(*this, name); }

uint32_t RecordReader::whole_number(const char* name, uint32_t least, uint32_t most) const {
  return checked(name, number(name), least, most);
}

std::vector<uint32_t> RecordReader::whole_numbers(const char* name, uint32_t least, uint32_t most) const {
  std::vector<uint32_t> out;
  for (const double value : settings_->get<std::vector<double>>(*this, name))
    out.push_back(checked(name, value, least, most));
  return out;
}

uint32_t RecordReader::checked(const char* name, double value, uint32_t least, uint32_t most) const {
  if (!(value >= least && value <= most) || value != std::floor(value))
    fail(fmt::format("setting '{}' is {}, expected a whole number from {} to {}", name, value, least, most));
  return static_cast<uint32_t>(value);
}

void RecordReader::expect_values(size_t expected) const {
  size_t given = 0;
  for (const EnergyTensor& tensor : record_.tensors) given += tensor.values.size();
  if (given != expected) fail(fmt::format("it has {} parameters, expected {}", given, expected));
}

void RecordReader::read(const std::string& name, const std::vector<uint64_t>& shape,
                        std::span<float> out) const {
  const auto at = std::find_if(record_.tensors.begin(), record_.tensors.end(),
                               [&](const EnergyTensor& t) { return t.name == name; });
  if (at == record_.tensors.end()) fail(fmt::format("tensor '{}' is missing", name));
  if (at->shape != shape || at->values.size() != out.size())
    fail(fmt::format("tensor '{}' has {} values in another shape, expected {}", name, at->values.size(),
                     out.size()));
  for (const float v : at->values)
    if (!std::isfinite(v)) fail(fmt::format("tensor '{}' has a value that is not finite", name));
  std::copy(at->values.begin(), at->values.end(), out.begin());
}

}  // namespace selfnorm

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/failure.h"
#include "family/classifier/trainer.h"

namespace selfnorm {
namespace {

std::vector<double> balanced(const Dataset& data) {
  std::vector<double> count(data.classes());
  for (const uint32_t y : data.target) count[y] += 1;
  const double n = static_cast<double>(data.examples());
  for (double& c : count) c = c > 0 ? n / (static_cast<double>(data.classes()) * c) : 1;
  return count;
}

std::vector<double> listed(const std::string& spec, const Dataset& data) {
  std::vector<double> weight(data.classes(), 1);
  std::vector<bool> is_given(data.classes());
  for (size_t begin = 0; begin <= spec.size();) {
    const size_t end = std::min(spec.find(',', begin), spec.size());
    const std::string item = spec.substr(begin, end - begin);
    const size_t equals = item.rfind('=');
    const std::string label = item.substr(0, equals);
    const auto found = std::find(data.labels.begin(), data.labels.end(), label);
    double value = -1;
    if (equals != std::string::npos) {
      const char* end_of_item = item.data() + item.size();
      const auto parsed = std::from_chars(item.data() + equals + 1, end_of_item, value);
      if (parsed.ec != std::errc() || parsed.ptr != end_of_item) value = -1;
    }
    if (!(value >= 0) || !std::isfinite(value))
      throw_error("class-weight '{}': expected label=weight with weight >= 0, or balanced", item);
    if (found == data.labels.end()) throw_error("class-weight '{}': the data has no label '{}'", item, label);
    const auto k = static_cast<size_t>(std::distance(data.labels.begin(), found));
    if (is_given[k]) throw_error("class-weight '{}': label '{}' a second time", item, label);
    is_given[k] = true;
    weight[k] = value;
    begin = end + 1;
  }
  return weight;
}

}  // namespace

void apply_class_weight(const std::string& spec, Dataset& train, Dataset* valid) {
  if (spec.empty()) return;
  if (train.is_joint())
    throw Error("class-weight does not apply to groups of alternatives; weight the examples instead");
  const std::vector<double> weight = spec == "balanced" ? balanced(train) : listed(spec, train);
  for (Dataset* data : {&train, valid}) {
    if (data == nullptr) continue;
    if (data->weight.empty()) data->weight.assign(data->examples(), 1);
    for (uint64_t i = 0; i < data->examples(); ++i)
      data->weight[i] = static_cast<float>(static_cast<double>(data->weight[i]) * weight[data->target[i]]);
  }
}

}  // namespace selfnorm

#include "selfnorm/proposal/density/record_values.h"

#include <fmt/format.h>

#include <cmath>

#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

// Points are 32-bit floats; squares of products of two such numbers are still finite.
constexpr double kLargestRecorded = 1e50;

}  // namespace

const std::vector<double>& record_values(const DensityRecord& record, const std::string& name, size_t size) {
  const auto place = record.values.find(name);
  if (place == record.values.end())
    throw Error(fmt::format("the density '{}' has no {}; its file is damaged", record.kind, name));
  const std::vector<double>& values = place->second;
  if (values.empty() || (size > 0 && values.size() != size))
    throw Error(fmt::format("the density '{}' has {} numbers in {}; expected {}; its file is damaged",
                            record.kind, values.size(), name,
                            size > 0 ? std::to_string(size) : "at least one"));
  for (const double v : values)
    if (!(std::abs(v) <= kLargestRecorded))
      throw Error(fmt::format("the density '{}' has {} in {}; expected numbers up to {}; its file is damaged",
                              record.kind, v, name, kLargestRecorded));
  return values;
}

}  // namespace selfnorm

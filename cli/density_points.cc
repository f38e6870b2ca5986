#include "density_points.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "label_list.h"
#include "selfnorm/base/error.h"
#include "selfnorm/data/string_index.h"

namespace selfnorm::cli {

PointOptions point_options(const Arguments& arguments) {
  return {.format = arguments.reader.options.format,
          .header = arguments.reader.options.header,
          .drop = listed_words(arguments.points.drop),
          .names = {},
          .columns = 0,
          .array = arguments.points.array};
}

std::unique_ptr<PointSource> open_points_for(const DensityModel& model, const std::string& path,
                                             const Arguments& arguments) {
  PointOptions options = point_options(arguments);
  options.names = model.feature_names;
  options.columns = model.dimension();
  return open_points(path, options);
}

nlohmann::ordered_json points_record(const std::string& path, const PointSource& points) {
  std::string marks = points.fingerprint();
  for (const std::string& name : points.names()) marks += name + "\n";
  return {{"path", path},
          {"rows", points.rows()},
          {"columns", points.columns()},
          {"hash", fmt::format("{:016x}", hash_bytes(marks))}};
}

std::vector<std::string> listed_words(const std::string& list) {
  return list.empty() ? std::vector<std::string>{} : split_labels(list);
}

std::vector<double> listed_numbers(const char* option, const std::string& list) {
  std::vector<double> numbers;
  for (const std::string& word : listed_words(list)) {
    const char* end = word.data() + word.size();
    double value = 0;
    const auto parsed = std::from_chars(word.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end || std::isnan(value))
      throw Error(fmt::format("{} '{}': found '{}', expected numbers, inf or -inf, separated by commas",
                              option, list, word));
    numbers.push_back(value);
  }
  return numbers;
}

}  // namespace selfnorm::cli

#include "density/density_points.h"

#include <fmt/format.h>

#include "data/string_index.h"
#include "grammar/option_list.h"

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

}  // namespace selfnorm::cli

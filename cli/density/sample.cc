#include <fmt/format.h>

#include <algorithm>

#include "commands.h"
#include "data/write.h"
#include "density/density_model.h"
#include "family/density/density_sample.h"
#include "output.h"

namespace selfnorm::cli {
namespace {

double smallest(const std::vector<double>& values) { return *std::ranges::min_element(values); }
double largest(const std::vector<double>& values) { return *std::ranges::max_element(values); }

bool has_chains(const DensitySample& sample) { return !sample.r_hat.empty(); }

Json sample_json(const DensitySample& sample) {
  Json out = {{"method", sample.method}, {"pool", sample.pool}, {"pool_ess", sample.pool_effective}};
  if (!has_chains(sample)) return out;
  out.update({{"acceptance", sample.acceptance}, {"ess", sample.effective}, {"r_hat", sample.r_hat}});
  return out;
}

std::string sample_text(const DensitySample& sample, uint64_t count) {
  std::string text = fmt::format("{}: {} points", sample.method, grouped(count));
  if (sample.pool > 0)
    text +=
        fmt::format(", {}{} draws of the proposal worth {:.1f}", has_chains(sample) ? "started from " : "",
                    grouped(sample.pool), sample.pool_effective);
  if (has_chains(sample))
    text += fmt::format("; acceptance {:.3f}, ESS {:.1f} or more, R-hat {:.3f} or less", sample.acceptance,
                        smallest(sample.effective), largest(sample.r_hat));
  return text;
}

Json points_json(const Points& points, const Categories& words) {
  Json rows = Json::array();
  for (uint64_t i = 0; i < points.rows; ++i) {
    Json row = Json::array();
    for (uint32_t j = 0; j < points.columns; ++j) {
      const float x = points.row(i)[j];
      const bool has_words = !words.empty() && !words[j].empty();
      row.push_back(has_words ? Json(words[j].at(static_cast<size_t>(x))) : Json(x));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

int sample_points(const Arguments& arguments) {
  const SampleArguments& given = arguments.sample;
  const DensitySampleOptions& options = given.options;
  if (!given.out.empty()) check_points_path(given.out);
  const auto [path, model] = open_density(given.model, arguments.common.code());
  const DensitySample sample = sample_density_model(model, options);
  const Categories& words = model.geometry.categories;
  const Points points{sample.rows.data(), options.count, model.columns()};
  if (!given.out.empty()) write_points(points, model.feature_names, given.out, words);
  if (!arguments.common.quiet) {
    if (!arguments.common.json) note(sample_text(sample, options.count));
    if (const std::string text = sample_doubt(sample, options.count); !text.empty()) warning(text);
  }
  if (arguments.common.json) {
    Json report = {{"model", path}, {"n", options.count}, {"seed", options.seed}};
    report.update(sample_json(sample));
    if (given.out.empty())
      report["points"] = points_json(points, words);
    else
      report["out"] = given.out;
    print_json(report);
  } else if (given.out.empty()) {
    csv_lines(points, model.feature_names, print, words);
  }
  return 0;
}

}  // namespace selfnorm::cli

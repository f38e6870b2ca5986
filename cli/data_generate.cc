#include <cstdio>
#include <filesystem>
#include <numeric>

#include "base/failure.h"
#include "commands.h"
#include "data/toy/generate.h"
#include "data/toy/toys.h"
#include "data/write.h"
#include "model/model_file.h"
#include "output.h"

namespace selfnorm::cli {
namespace {

ModelFile truth_model(const GenerateOptions& options, GeneratedData&& generated) {
  ModelFile model;
  model.classes = options.classes;
  model.features = options.features;
  model.weight = std::move(generated.truth);
  model.bias.assign(options.classes, 0.0f);
  model.labels = std::move(generated.data.labels);
  model.objective_json = R"({"name":"truth"})";
  model.training_json = Json{
      {"rows", options.rows},
      {"density", options.density},
      {"temperature", options.temperature},
      {"seed",
       options.seed}}.dump();
  return model;
}

std::vector<std::string> class_data_options() {
  return {"--features", "--classes", "--density", "--temperature", "--truth"};
}

// No model's mean log-density of these rows is expected to exceed that of the true one, which is printed.
int generate_regression(const Arguments& arguments) {
  const GenerateArguments& given = arguments.generate;
  arguments.refuse(class_data_options(), "a regression (--regression) has no classes");
  arguments.refuse({"--toy", "--dimension"}, "a regression (--regression) is no toy");
  if (given.out.empty()) throw Error("data generate --regression needs --out FILE.csv");
  const auto task = make_regression_task(given.regression);
  const Frame frame = sample_regression(*task, given.options.rows, given.options.seed);
  write_frame(frame, given.out);
  const std::vector<double> log_density = regression_log_density(*task, frame);
  const double nll =
      -std::accumulate(log_density.begin(), log_density.end(), 0.0) / static_cast<double>(frame.rows);
  put_out(arguments.common,
          {{"data", given.out},
           {"regression", given.regression},
           {"rows", frame.rows},
           {"columns", frame.columns.size()},
           {"target", frame.columns.back().name},
           {"true_nll", nll}},
          fmt::format("{}: {} rows of {}, target {}; NLL of the true density on them {:.4f} nats\n",
                      given.out, grouped(frame.rows), given.regression, frame.columns.back().name, nll));
  return 0;
}

// Points of a density whose entropy is printed: no model has a smaller expected negative log-likelihood.
int generate_toy(const Arguments& arguments) {
  const GenerateArguments& given = arguments.generate;
  arguments.refuse(class_data_options(), "points of a toy (--toy) have no classes");
  if (given.out.empty()) throw Error("data generate --toy needs --out FILE.csv or FILE.npy");
  check_points_path(given.out);
  const auto toy = make_toy(given.toy, given.dimension);
  const std::vector<float> points = sample_toy(*toy, given.options.rows, given.options.seed);
  write_points({points.data(), given.options.rows, toy->dimension()}, {}, given.out);
  const double entropy = toy->entropy();
  put_out(arguments.common,
          {{"data", given.out},
           {"toy", given.toy},
           {"rows", given.options.rows},
           {"dimension", toy->dimension()},
           {"entropy", entropy}},
          fmt::format("{}: {} points of {} in {} dimensions, entropy {:.4f} nats\n", given.out,
                      grouped(given.options.rows), given.toy, toy->dimension(), entropy));
  return 0;
}

}  // namespace

int data_generate_command(const Arguments& arguments) {
  const GenerateArguments& given = arguments.generate;
  if (!given.regression.empty()) return generate_regression(arguments);
  if (!given.toy.empty()) return generate_toy(arguments);
  arguments.refuse({"--dimension"}, "only toys (--toy) have dimensions; --features is for classes");
  given.options.validate();
  if (given.out.empty()) throw Error("data generate needs --out FILE.svm");
  if (given.out.ends_with(".gz")) {
    throw_error("--out {}: the data are written uncompressed; leave out .gz", given.out);
  }
  const std::string truth = given.truth.empty() ? given.out + ".truth.safetensors" : given.truth;
  if (truth == given.out) throw Error("--truth and --out name the same file " + truth);
  GeneratedData generated = generate(given.options);
  const uint64_t nonzeros = generated.data.features.sparse.value.size();
  const bool is_new = !std::filesystem::exists(given.out);
  write_svmlight(generated.data, given.out);
  try {
    save_model(truth_model(given.options, std::move(generated)), truth);
  } catch (...) {
    if (is_new) std::remove(given.out.c_str());
    throw;
  }
  put_out(arguments.common,
          {{"data", given.out},
           {"truth", truth},
           {"rows", given.options.rows},
           {"features", given.options.features},
           {"classes", given.options.classes},
           {"nonzeros", nonzeros}},
          fmt::format(
              "{}: {} rows, {} features, {} classes, {} non-zeros\n{}: the true parameters, a model file\n",
              given.out, grouped(given.options.rows), grouped(given.options.features),
              grouped(given.options.classes), grouped(nonzeros), truth));
  return 0;
}

}  // namespace selfnorm::cli

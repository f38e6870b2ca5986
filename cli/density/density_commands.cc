// The options of densities: how they are trained, which points they read, how log Z is found, sampling.
#include "grammar/grammar.h"

namespace selfnorm::cli {
namespace {

constexpr const char* kDensities = "Densities: ";
constexpr const char* kPoints = "Points: ";

}  // namespace

void declare_points(Declaration& command, PointArguments& points) {
  command
      .text("--drop", points.drop,
            std::string(kPoints) + "columns left out, NAME or zero-based index, separated by commas")
      .text("--array", points.array, std::string(kPoints) + "npz, safetensors: the array of the points");
}

void declare_log_z(Declaration& command, DensityEvaluationOptions& log_z) {
  command
      .choice("--method", log_z.method, {"auto", "quadrature", "enumeration", "importance", "annealed"},
              std::string(kDensities) + "how log Z is found; auto: the best that applies")
      .integer("--samples", log_z.samples, std::string(kDensities) + "points of importance sampling; >= 2")
      .real("--precision", log_z.precision, std::string(kDensities) + "error of log Z by quadrature; 1e-7..1")
      .integer("--seed", log_z.seed, std::string(kDensities) + "seed of the samples");
}

void Grammar::declare_density_commands() {
  DensityArguments& density = arguments_.density;
  Declaration& training = command(
      "train density",
      "Train an unnormalised density exp(-E(x)) together with its log Z on points: tables, arrays or binary "
      "vectors; evaluate it on held-out rows and write a run directory. No option is needed.");
  training.positional("DATA", density.run.train, "Rows of numbers: csv, tsv, npy, npz, safetensors, svmlight",
                      false);
  declare_run(
      training, density.run, "DATA",
      "Fraction of the rows of DATA held out for validation when there is no --valid, 0..0.5; auto: 0.1");
  training.options(density_option_table(density.options))
      .choice("--format", arguments_.reader.format,
              {"auto", "csv", "tsv", "npy", "npz", "safetensors", "svmlight"},
              "Format of the data; auto looks at content and extension")
      .choice("--header", arguments_.reader.header, {"auto", "yes", "no"},
              "csv, tsv: whether the first row names the columns");
  declare_points(training, arguments_.points);
  declare_common(training, arguments_.common, kExpansion | kThreads | kCode);

  SampleArguments& sample = arguments_.sample;
  Declaration& sampling =
      command("sample",
              "Draw points from a density, with what tells whether they can be trusted: effective samples, "
              "acceptance, R-hat.");
  sampling.positional("MODEL", sample.model, "Model file or run directory of a density")
      .integer("-n", "--number", sample.options.count, "Points (required); >= 1")
      .choice("--method", sample.options.method, sampling_methods(),
              "sir: resampled from the proposal by importance; langevin, hmc: chains on real data; gibbs: on "
              "levels; auto: sir where the proposal is good enough, else hmc or gibbs")
      .integer("--chains", sample.options.chains, "langevin, hmc, gibbs: chains; 1..65536")
      .integer("--pool", sample.options.pool,
               "sir: draws of the proposal; 0: 20 for every point, at least 20,000")
      .integer("--seed", sample.options.seed, "Seed of everything random")
      .file("-o", "--out", sample.out, "FILE.csv or FILE.npy; default: csv on standard output");
  declare_common(sampling, arguments_.common, kThreads | kCode);
}

}  // namespace selfnorm::cli

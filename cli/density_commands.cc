// The options of densities: how they are trained, which points they read, how log Z is found, sampling.
#include "grammar.h"

namespace selfnorm::cli {
namespace {

void declare_energy(Declaration& command, DensityArguments& density) {
  DensityOptions& o = density.options;
  command
      .text("--energy", o.energy,
            "-E(x): mlp:WIDTH,WIDTH,..., a TorchScript module FILE.pt, or an exponential family: gaussian, "
            "truncated-gaussian, exponential, gamma, von-mises, poisson, bernoulli, ising, family:x,x2,...; "
            "or rbm[:HIDDEN]; "
            "auto: mlp:128,128")
      .choice("--activation", o.mlp.activation, {"silu", "relu", "tanh", "softplus", "gelu"},
              "mlp: the function of its layers")
      .flag("--residual", o.mlp.residual, "mlp: layers between equal widths add their input")
      .flag("--spectral-norm", o.mlp.spectral_norm,
            "mlp: every weight matrix is divided by its largest singular value")
      .text("--fourier", o.fourier,
            "mlp: learned Fourier features of the input, for sharp shapes; 0..4096; auto: 64 up to 3 "
            "dimensions, else 0")
      .real("--fourier-scale", o.mlp.fourier_scale,
            "mlp: standard deviation of the frequencies at the start; > 0")
      .choice("--base", o.base, {"auto", "proposal", "none"},
              "proposal: the energy tilts the proposal, so that training starts there; auto: proposal for "
              "networks and modules, none for exponential families")
      .text("--lower", density.lower,
            "truncated-gaussian, family: lower ends of the box, a number a column, X,X,...; -inf: no end")
      .text("--upper", density.upper, "truncated-gaussian, family: upper ends of the box; inf: no end");
}

void declare_density_objective(Declaration& command, DensityArguments& density) {
  DensityOptions& o = density.options;
  command
      .choice("--objective", o.objective, density_objective_names(),
              "snl: a lower bound of the likelihood, equal to it at b = log Z; is, nce, ranking-nce: against "
              "points of the proposal; cd, pcd: chains; dsm, ssm, sm: score matching; pseudo-likelihood: "
              "binary data; fit: the proposal itself is the model")
      .choice("--normalizer", o.normalizer, {"learned", "zero"}, "snl, nce: b is learned, or fixed at 0")
      .text("--proposal", o.proposal,
            "What noise is drawn from and log Z estimated with, fitted to the data: uniform, "
            "gaussian[:diagonal], student-t[:DOF], mixture[:COMPONENTS], kde[:BANDWIDTH], bernoulli, "
            "categorical, counts; auto: for real data mixture, a component for 100 rows up to 32; a product "
            "for levels and counts")
      .real("--defensive", o.fit.defensive, "mixture: share of a broad component; 0..0.5")
      .real("--defensive-scale", o.fit.defensive_scale,
            "mixture: its standard deviations, in those of the data; > 0")
      .real("--proposal-scale", o.fit.scale,
            "gaussian: multiplies its standard deviations after the fit; > 0")
      .choice("--learn-proposal", o.learn_proposal, {"none", "data", "kl", "both"},
              "snl, is, nce, ranking-nce: the proposal is learned too, by the likelihood of the data, the "
              "divergence from the model, or both")
      .integer("--samples", o.samples, "Points of the proposal at each step; pcd: chains; >= 1")
      .real("--drift", o.drift,
            "snl: b is estimated anew when the running mean of log r is further from 0 than this; > 0")
      .integer("--langevin-steps", o.langevin_steps, "cd, pcd: steps of the chains at each step; >= 1")
      .real("--langevin-step", o.langevin_step,
            "cd, pcd on real data: standard deviation of a step's noise, in those of the data where they are "
            "standardised; > 0")
      .real("--noise", o.noise,
            "dsm: standard deviation of the noise, in those of the data where they are standardised; > 0")
      .integer("--slices", o.slices, "ssm: random directions; >= 1")
      .flag("--no-calibrate", density.no_calibrate,
            "snl, nce: keep b as trained; otherwise it is estimated at the end from many samples");
}

void declare_density_steps(Declaration& command, DensityOptions& o) {
  command
      .choice("--optimiser", o.optimiser, {"auto", "adam"},
              "adam: minibatches; auto: exponential families with snl go straight to the maximum of the "
              "likelihood where sums are exact, all else by adam")
      .integer("--steps", o.steps, "Minibatches; >= 1")
      .integer("--batch", o.batch, "Rows per step; >= 1")
      .real("--learning-rate", o.learning_rate, "Step size of Adam; > 0")
      .real("--normalizer-rate", o.normalizer_rate,
            "snl, nce: learning rate of b over that of the energy; > 0")
      .integer("--normalizer-steps", o.normalizer_steps, "snl, nce: steps at the start that move b alone")
      .choice("--schedule", o.schedule, {"constant", "linear", "cosine", "inverse-sqrt"},
              "How the step size falls")
      .real("--clip", o.clip, "Largest norm of the gradient of the energy; > 0")
      .real("--weight-decay", o.weight_decay,
            "Every step multiplies the parameters by 1 - rate times this; >= 0")
      .integer("--patience", o.patience,
               "Validation checks without improvement before stopping; 0 never stops early");
}

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
  declare_run(training, density.run, density.options.seed,
              {.data = "DATA",
               .hold_out = "Fraction of the rows of DATA held out for validation when there is no --valid, "
                           "0..0.5; auto: 0.1",
               .objectives = {}});
  declare_energy(training, density);
  declare_density_objective(training, density);
  declare_density_steps(training, density.options);
  training
      .flag("--no-standardise", density.no_standardise,
            "mlp, modules, gaussian, fit: real data are trained on in their own units instead of (x - mean) "
            "/ std")
      .choice("--space", density.options.space, {"auto", "real", "binary", "categorical", "counts"},
              "What the numbers are; auto: what an exponential family is over; else binary when every value "
              "is 0 or 1, real otherwise")
      .choice("--format", arguments_.reader.format,
              {"auto", "csv", "tsv", "npy", "npz", "safetensors", "svmlight"},
              "Format of the data; auto looks at content and extension")
      .choice("--header", arguments_.reader.header, {"auto", "yes", "no"},
              "csv, tsv: whether the first row names the columns");
  declare_points(training, arguments_.points);
  declare_expansion(training, arguments_.common);
  declare_threads(training, arguments_.common);
  declare_code(training, arguments_.common);
  declare_output(training, arguments_.common);

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
  declare_threads(sampling, arguments_.common);
  declare_code(sampling, arguments_.common);
  declare_output(sampling, arguments_.common);
}

}  // namespace selfnorm::cli

#include "family/density/train/density_options.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "engine/checkpoint.h"
#include "math/activation.h"
#include "model/energy/make_energy.h"
#include "objective/registry.h"
#include "optim/adaptive.h"

namespace selfnorm {
namespace {

constexpr double kMostRows = 1e7;

// "mixture" of "mixture:32"
std::string kind_of(const std::string& word) { return word.substr(0, word.find(':')); }

bool is_one(const std::string& word, const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

void add_energy(DensityOptions& o, OptionTable& table) {
  table.add("energy", &o.energy,
            "-E(x): mlp:WIDTH,WIDTH,..., a TorchScript module FILE.pt, or an exponential family: gaussian, "
            "truncated-gaussian, exponential, gamma, von-mises, poisson, bernoulli, ising, on the torus "
            "bivariate-von-mises, on the sphere von-mises-fisher, fisher-bingham, family:x,x2,...; "
            "rbm[:HIDDEN]; autoregressive[:WIDTH,...]: of every column given those before it, for real ones; "
            "auto: mlp:128,128");
  table.add("activation", &o.mlp.activation, "mlp: the function of its layers").one_of(activation_names());
  table.add("residual", &o.mlp.residual, "mlp: layers between equal widths add their input");
  table.add("spectral-norm", &o.mlp.spectral_norm,
            "mlp: every weight matrix is divided by its largest singular value");
  table.add("fourier", &o.fourier,
            "mlp: learned Fourier features of the input, for sharp shapes; 0..4096; auto: 64 up to 3 "
            "dimensions, else 0");
  table.add("fourier-scale", &o.mlp.fourier_scale, "mlp: standard deviation of the frequencies at the start")
      .above(0);
  table
      .add("base", &o.base,
           "proposal: the energy tilts the proposal, so that training starts there; auto: proposal for "
           "networks and modules, none for exponential families")
      .one_of({"auto", "proposal", "none"});
  table.add("lower", &o.lower,
            "Real data in a box: its lower ends, one number for each column, X,X,...; -inf: no end");
  table.add("upper", &o.upper, "Its upper ends; inf: no end");
}

void add_objective(DensityOptions& o, OptionTable& table) {
  table.add("objective", &o.objective, objective_help("density")).one_of(objective_names("density"));
  table.add("normalizer", &o.normalizer, "b, which stands for log Z: a constant that is learned, or zero")
      .one_of({"constant", "zero"});
  table.add("proposal", &o.proposal,
            "The density that noise is drawn from and log Z is estimated with, fitted to the data: uniform, "
            "gaussian[:diagonal], "
            "student-t[:DOF], mixture[:COMPONENTS], kde[:BANDWIDTH]; bernoulli, categorical, counts, "
            "products[:COMPONENTS], trees[:COMPONENTS]; autoregressive[:WIDTH]; of angles and mixed tables "
            "directions[:COMPONENTS], kernels[:CONCENTRATION], neighbours[:K]; auto: the best of a few on "
            "held-out rows, or several of them stacked");
  table.add("defensive", &o.fit.defensive, "mixture: share of a broad component").in(0, 0.5);
  table
      .add("defensive-scale", &o.fit.defensive_scale,
           "mixture: standard deviations of that component, in those of the data")
      .above(0);
  table.add("proposal-scale", &o.fit.scale, "gaussian: multiplies its standard deviations after the fit")
      .above(0);
  table
      .add("learn-proposal", &o.learn_proposal,
           "The proposal is learned too, by the likelihood of the data, the divergence from the model, or "
           "both")
      .one_of({"none", "data", "kl", "both"});
  table.add("samples", &o.samples, "Draws from the proposal at each step; pcd: chains").in(1, kMostRows);
  table
      .add("drift", &o.drift,
           "b is estimated anew when the running mean of log r is further from 0 than this")
      .above(0);
  table.add("langevin-steps", &o.langevin_steps, "Steps of every chain in each step of training").at_least(1);
  table
      .add(
          "langevin-step", &o.langevin_step,
          "Real data: standard deviation of a step's noise, in those of the data where they are standardised")
      .above(0);
  table
      .add("noise", &o.noise,
           "Standard deviation of the noise, in those of the data where they are standardised")
      .above(0);
  table.add("slices", &o.slices, "Random directions").at_least(1);
  table.add("calibrate", &o.calibrate, "b is estimated at the end from many samples").off_text =
      "Keep b as trained; otherwise it is estimated at the end from many samples";
}

void add_steps(DensityOptions& o, OptionTable& table) {
  table
      .add("optimiser", &o.optimiser,
           "adam: minibatches; auto: exponential families with snl go straight to the maximum of the "
           "likelihood where sums are exact, all else by adam")
      .one_of({"auto", "adam"});
  table.add("steps", &o.steps, "Minibatches").at_least(1);
  table.add("batch", &o.batch, "Rows per step; 0: 512, for autoregressive energies 128").in(0, kMostRows);
  table
      .add("learning-rate", &o.learning_rate,
           "Step size of Adam; 0: 0.001, for autoregressive energies 0.005")
      .at_least(0);
  table.add("normalizer-rate", &o.normalizer_rate, "Learning rate of b, as a multiple of that of the energy")
      .above(0);
  table.add("normalizer-steps", &o.normalizer_steps, "Steps at the start that move b alone");
  table.add("schedule", &o.schedule, "How the step size falls").one_of(schedule_names());
  table.add("clip", &o.clip, "Largest norm of the gradient of the energy").above(0);
  table.add("weight-decay", &o.weight_decay, "Every step multiplies the parameters by 1 - rate times this")
      .at_least(0);
  table.add(
      "patience", &o.patience,
      "Validation checks, of 20 in all steps, without improvement before stopping; 0 never stops early");
  table.add("standardise", &o.standardise, "Real data: (x - mean) / std of the training rows").off_text =
      "mlp, modules, gaussian, fit: real data are trained on in their own units instead of (x - mean) / std";
  table
      .add("space", &o.space,
           "What the numbers are; auto: what an exponential family is over; else binary when every value is "
           "0 or 1, real otherwise, and columns of words or of 0 and 1 among real ones are levels; torus: "
           "all columns are angles, in degrees or radians; sphere: latitude "
           "and "
           "longitude, or unit vectors of three numbers")
      .one_of({"auto", "real", "binary", "categorical", "counts", "torus", "sphere"});
  table.add("periodic", &o.periodic,
            "Real data: columns that are angles, COLUMN=PERIOD,..., as in direction=360; all of them: "
            "--space torus");
  table.add("seed", &o.seed, "Seed of everything random");
}

// The option that says that the data are whole numbers; empty: the data decide.
std::string whole_numbers(const DensityOptions& o, bool has_energy) {
  if (is_one(o.space, {"binary", "categorical", "counts"})) return option_text("space", o.space);
  const bool is_whole = has_energy && is_one(kind_of(o.energy), {"poisson", "bernoulli", "ising", "rbm"});
  return is_whole ? option_text("energy", o.energy) : "";
}

// A file by its name alone: a run resumes from any folder, and its model is the same.
nlohmann::ordered_json options_json(DensityOptions o) {
  if (o.energy.ends_with(".pt")) o.energy = std::filesystem::path(o.energy).filename().string();
  return option_record(density_option_table(o));
}

}  // namespace

OptionTable density_option_table(DensityOptions& o) {
  OptionTable table;
  add_energy(o, table);
  add_objective(o, table);
  add_steps(o, table);
  const auto only = [&table](const std::vector<std::string>& names, bool applies, const std::string& owner,
                             const std::string& found) {
    for (const std::string& name : names) table.find(name)->only(applies, owner, found);
  };
  const auto& all = objective_names("density");
  if (!is_one(o.objective, all)) return table;  // which validate() says
  const bool is_fit = objective_entry(o.objective).seam == ObjectiveSeam::proposal;
  only({"energy", "base", "optimiser", "steps", "batch", "learning-rate", "schedule", "clip", "weight-decay",
        "patience"},
       !is_fit, "energies that are trained",
       option_text("objective", "fit") + ", which stores the fitted " + option_name("proposal"));
  limit_to_objective("density", o.objective, table);
  only({"normalizer-rate", "normalizer-steps", "drift"}, o.normalizer == "constant",
       option_text("normalizer", "constant"), option_text("normalizer", o.normalizer));
  const bool is_network = !is_fit && is_one(kind_of(o.energy), {"auto", "mlp"});
  const std::string energy = is_fit ? option_text("objective", "fit") : option_text("energy", o.energy);
  only({"activation", "residual", "spectral-norm", "fourier", "fourier-scale"}, is_network,
       option_text("energy", "mlp"), energy);
  only({"fourier-scale"}, o.fourier != "0", "Fourier features", option_text("fourier", "0"));
  const bool has_lines = !is_fit && is_autoregressive(o.energy);
  only({"base", "learn-proposal", "normalizer", "normalizer-steps", "drift", "calibrate"}, !has_lines,
       "energies of all columns together", energy);
  const std::string whole = whole_numbers(o, !is_fit);
  only({"langevin-step", "standardise"}, whole.empty(), "real data", whole);
  only({"fourier-scale"}, o.fourier != "auto" || whole.empty(), "Fourier features",
       whole + ", which has none unless " + option_name("fourier") + " says how many");
  only({"standardise"},
       is_fit || is_network || has_lines || kind_of(o.energy) == "gaussian" || o.energy.ends_with(".pt"),
       option_text("energy", "mlp, FILE.pt, autoregressive, gaussian") + " and " +
           option_text("objective", "fit") + ", which standardise",
       option_text("energy", o.energy));
  only({"periodic"}, is_one(o.space, {"auto", "real"}), option_text("space", "real"),
       option_text("space", o.space));
  only({"lower", "upper"},
       is_fit || is_network || o.energy.ends_with(".pt") ||
           is_one(kind_of(o.energy), {"truncated-gaussian", "family"}),
       option_text("energy", "mlp, FILE.pt, truncated-gaussian, family") + " and " +
           option_text("objective", "fit"),
       energy);
  only({"defensive", "defensive-scale"}, is_one(kind_of(o.proposal), {"auto", "mixture"}),
       option_text("proposal", "mixture"), option_text("proposal", o.proposal));
  only({"proposal-scale"}, kind_of(o.proposal) == "gaussian", option_text("proposal", "gaussian"),
       option_text("proposal", o.proposal));
  return table;
}

DensityOptions resolved_steps(DensityOptions options) {
  const bool has_lines = is_autoregressive(options.energy);
  if (options.batch == 0) options.batch = has_lines ? 128 : 512;
  if (options.learning_rate == 0) options.learning_rate = has_lines ? 5e-3 : 1e-3;
  return options;
}

bool is_autoregressive(const std::string& energy) { return kind_of(energy) == "autoregressive"; }

void check_autoregressive(const DensityOptions& options, const Support& space, bool has_intervals) {
  if (!space.is_real() || !space.wraps.empty() || !options.lower.empty() || has_intervals)
    throw_error(
        "`energy autoregressive` is for columns of real numbers without ends, angles or intervals; use "
        "`energy mlp`, whose `proposal autoregressive` takes levels and angles");
  if (options.objective != "snl")
    throw_error("`energy autoregressive` is trained by snl; found `objective {}`", options.objective);
}

PointGeometry resolve_geometry(const DensityOptions& options, const PointSource& data) {
  const bool is_torus = options.space == "torus", is_sphere = options.space == "sphere";
  if (!data.categories().empty() && (is_torus || is_sphere))
    throw_error("`space {}` needs numbers, but a column has words; leave it out (`drop`)", options.space);
  if (is_torus) return torus_geometry(data);
  if (is_sphere) return sphere_geometry(data);
  PointGeometry out = periodic_geometry(data, options.periodic);
  out.categories = data.categories();
  return out;
}

void DensityOptions::validate() const {
  DensityOptions copy = *this;
  density_option_table(copy).validate();
  if (energy != "auto") check_energy_word(energy);
  if (proposal != "auto") check_density_word(proposal);
  mlp.validate();
  if (lower.size() != upper.size()) throw Error("lower and upper need as many numbers as each other");
  for (size_t j = 0; j < lower.size(); ++j)
    if (!(lower[j] < upper[j])) throw Error("lower has to be below upper in every column");
}

std::string density_objective_json(const DensityOptions& options) {
  DensityOptions o = options;
  return objective_options("density", o.objective, density_option_table(o)).dump();
}

std::string density_training_json(const DensityOptions& options, const std::string& reason, uint64_t rows,
                                  const Progress& last) {
  nlohmann::ordered_json out = options_json(options);
  out.update({{"rows", rows}, {"steps_taken", last.step}, {"reason", reason}});
  return out.dump();
}

void record_training(const DensityOptions& options, const std::string& reason, uint64_t rows,
                     const Progress& last, DensityModel& model) {
  model.objective_json = density_objective_json(options);
  model.training_json = density_training_json(options, reason, rows, last);
}

void note_device(const std::string& name, DensityModel& model) {
  auto training = nlohmann::ordered_json::parse(model.training_json);
  training["device"] = name;
  model.training_json = training.dump();
}

std::string density_fingerprint(const PointSource& data, std::span<const uint64_t> train_rows,
                                std::span<const uint64_t> valid_rows, const DensityOptions& options) {
  Fingerprint hash;
  hash.add(options_json(options).dump()).add(train_rows).add(valid_rows).add(data.fingerprint());
  if (options.energy.ends_with(".pt")) hash.add_file(options.energy);
  return hash.text();
}

}  // namespace selfnorm

#include "density_applicability.h"

#include <fmt/format.h>

#include "applicability.h"
#include "selfnorm/train/family_training.h"

namespace selfnorm::cli {
namespace {

// "mixture" of "mixture:32"
std::string kind(const std::string& word) { return word.substr(0, word.find(':')); }

// The option that says that the data are whole numbers; empty: the data decide.
std::string whole_numbers(const DensityOptions& o) {
  if (is_one_of(o.space, {"binary", "categorical", "counts"})) return "--space " + o.space;
  const bool is_whole =
      o.objective != "fit" && is_one_of(kind(o.energy), {"poisson", "bernoulli", "ising", "rbm"});
  return is_whole ? "--energy " + o.energy : "";
}

// An option of one method of log Z.
struct MethodOption {
  const char* name;
  const char* method;
};
constexpr MethodOption kMethodOptions[] = {{"--samples", "importance"}, {"--precision", "quadrature"}};

}  // namespace

void check_applicability(const Arguments& arguments) {
  const DensityOptions& o = arguments.density.options;
  const Applicability rules(arguments);
  const bool is_fit = o.objective == "fit";
  rules.require({"--energy", "--base", "--optimiser", "--steps", "--batch", "--learning-rate", "--schedule",
                 "--clip", "--weight-decay", "--patience"},
                !is_fit, "energies that are trained", "--objective fit, which stores the fitted --proposal");
  rules.require_objective({"--learn-proposal"}, o.objective, {"snl", "is", "nce", "ranking-nce"});
  rules.require_objective({"--samples"}, o.objective, {"snl", "is", "nce", "ranking-nce", "pcd"});
  rules.require_objective({"--langevin-steps", "--langevin-step"}, o.objective, {"cd", "pcd"});
  rules.require_objective({"--noise"}, o.objective, {"dsm"});
  rules.require_objective({"--slices"}, o.objective, {"ssm"});
  rules.require_objective({"--drift"}, o.objective, {"snl"});
  rules.require_objective({"--normalizer", "--normalizer-rate", "--normalizer-steps", "--no-calibrate"},
                          o.objective, {"snl", "nce"});
  rules.require({"--normalizer-rate", "--normalizer-steps", "--drift"}, o.normalizer == "learned",
                "--normalizer learned", "--normalizer " + o.normalizer);
  const bool is_network = !is_fit && is_one_of(kind(o.energy), {"auto", "mlp"});
  rules.require({"--activation", "--residual", "--spectral-norm", "--fourier", "--fourier-scale"}, is_network,
                "--energy mlp", is_fit ? "--objective fit" : "--energy " + o.energy);
  rules.require({"--fourier-scale"}, o.fourier != "0", "Fourier features", "--fourier 0");
  const std::string whole = whole_numbers(o);
  rules.require({"--langevin-step", "--no-standardise"}, whole.empty(), "real data", whole);
  rules.require({"--fourier-scale"}, o.fourier != "auto" || whole.empty(), "Fourier features",
                whole + ", which has none unless --fourier says how many");
  rules.require(
      {"--no-standardise"}, is_fit || is_network || kind(o.energy) == "gaussian" || o.energy.ends_with(".pt"),
      "--energy mlp, FILE.pt, gaussian and --objective fit, which standardise", "--energy " + o.energy);
  rules.require({"--lower", "--upper"},
                !is_fit && is_one_of(kind(o.energy), {"truncated-gaussian", "family"}),
                "--energy truncated-gaussian, family", is_fit ? "--objective fit" : "--energy " + o.energy);
  rules.require({"--defensive", "--defensive-scale"}, is_one_of(kind(o.proposal), {"auto", "mixture"}),
                "--proposal mixture", "--proposal " + o.proposal);
  rules.require({"--proposal-scale"}, kind(o.proposal) == "gaussian", "--proposal gaussian",
                "--proposal " + o.proposal);
}

void check_step_applicability(const Arguments& arguments, uint32_t columns) {
  const DensityOptions& o = arguments.density.options;
  Applicability(arguments).require(
      {"--steps", "--batch", "--learning-rate", "--schedule", "--clip", "--patience", "--samples",
       "--normalizer-rate", "--normalizer-steps", "--drift", "--no-calibrate", "--checkpoint-seconds"},
      !fits_family(o, columns), "--optimiser adam",
      fmt::format("--optimiser {}, by which --energy {} is fitted at once", o.optimiser, o.energy));
}

std::vector<std::string> idle_options(const Arguments& arguments, const DensityModel& model) {
  const Applicability rules(arguments);
  std::vector<std::string> idle;
  if (!model.energy->support().is_real())
    for (const char* option : {"--langevin-step", "--no-standardise"})
      if (rules.has(option))
        idle.push_back(fmt::format("{} did nothing: the data are whole numbers", option));
  if (rules.has("--fourier-scale")) {
    const auto settings = nlohmann::json::parse(model.energy->record().settings);
    if (settings.value("fourier", 0) == 0)
      idle.push_back(
          "--fourier-scale did nothing: --fourier auto gives data like these no Fourier features; say how "
          "many");
  }
  return idle;
}

void check_log_z_applicability(const Arguments& arguments) {
  const std::string& method = arguments.log_z.method;
  const Applicability rules(arguments);
  for (const auto& [option, owner] : kMethodOptions)
    rules.require({option}, method == "auto" || method == owner, fmt::format("--method {}", owner),
                  "--method " + method);
}

std::vector<std::string> idle_log_z_options(const Arguments& arguments, const std::string& method) {
  const Applicability rules(arguments);
  std::vector<std::string> idle;
  for (const auto& [option, owner] : kMethodOptions)
    if (rules.has(option) && method != owner)
      idle.push_back(fmt::format("{} belongs to --method {}; log Z came by {}", option, owner, method));
  return idle;
}

}  // namespace selfnorm::cli

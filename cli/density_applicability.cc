#include "density_applicability.h"

#include <fmt/format.h>

#include <algorithm>

#include "changed_options.h"
#include "selfnorm/base/error.h"

namespace selfnorm::cli {
namespace {

using Words = std::vector<std::string>;

bool is_one_of(const std::string& word, const Words& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "mixture" of "mixture:32"
std::string kind(const std::string& word) { return word.substr(0, word.find(':')); }

class Applicability {
 public:
  explicit Applicability(const Arguments& arguments) : changed_(changed_options(arguments)) {}

  // Options that belong to `owner` ("--objective dsm"), when it is not what was given.
  void require(const Words& options, bool applies, const std::string& owner, const std::string& found) const {
    if (applies) return;
    for (const std::string& option : options)
      if (changed_.contains(option))
        throw Error(
            fmt::format("{} belongs to {}, found {}; leave it out or change that", option, owner, found));
  }
  void require_objective(const Words& options, const std::string& given, const Words& objectives) const {
    require(options, is_one_of(given, objectives), fmt::format("--objective {}", fmt::join(objectives, ", ")),
            "--objective " + given);
  }

 private:
  std::set<std::string> changed_;
};

}  // namespace

void check_applicability(const Arguments& arguments) {
  const DensityOptions& o = arguments.density.options;
  const Applicability rules(arguments);
  const bool is_fit = o.objective == "fit";
  rules.require({"--energy", "--base", "--optimiser", "--steps", "--batch", "--learning-rate", "--schedule",
                 "--clip", "--weight-decay", "--patience"},
                !is_fit, "energies that are trained", "--objective fit, which stores the fitted --proposal");
  rules.require_objective({"--learn-proposal"}, o.objective, {"snl", "is", "nce", "ranking-nce"});
  rules.require_objective({"--samples"}, o.objective, {"snl", "is", "nce", "ranking-nce", "cd", "pcd"});
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
  rules.require({"--lower", "--upper"},
                !is_fit && is_one_of(kind(o.energy), {"truncated-gaussian", "family"}),
                "--energy truncated-gaussian, family", is_fit ? "--objective fit" : "--energy " + o.energy);
  rules.require({"--defensive", "--defensive-scale"}, is_one_of(kind(o.proposal), {"auto", "mixture"}),
                "--proposal mixture", "--proposal " + o.proposal);
  rules.require({"--proposal-scale"}, kind(o.proposal) == "gaussian", "--proposal gaussian",
                "--proposal " + o.proposal);
}

}  // namespace selfnorm::cli

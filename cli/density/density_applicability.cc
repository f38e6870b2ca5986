#include "density/density_applicability.h"

#include <fmt/format.h>

#include "family/density/train/density_trainer.h"
#include "grammar/applicability.h"

namespace selfnorm::cli {

void check_applicability(const Arguments& arguments) {
  DensityOptions given = arguments.density.options, initial;
  density_option_table(given).refuse_idle(density_option_table(initial));
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

}  // namespace selfnorm::cli

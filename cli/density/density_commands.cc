// The options of densities: how they are trained, and sampling.
#include "grammar/grammar.h"

namespace selfnorm::cli {

void Grammar::declare_density_commands() {
  DensityArguments& density = arguments_.density;
  Declaration& training =
      command("train density",
              "Train an unnormalised density exp(-E(x)) together with its log Z on points: tables, arrays or "
              "binary vectors; evaluate it on held-out rows and write a run directory. No option is needed.");
  training.positional("DATA", density.run.train, "Rows of numbers: csv, tsv, npy, npz, safetensors, svmlight",
                      false);
  declare_run(
      training, density.run, "DATA",
      "Fraction of the rows of DATA held out for validation when there is no --valid, 0..0.5; auto: 0.1");
  OptionTable format, out;
  format.add("format", &arguments_.reader.format, "Format of the data; auto looks at content and extension")
      .one_of({"auto", "csv", "tsv", "npy", "npz", "safetensors", "svmlight"});
  training.options(density_option_table(density.options))
      .options(format)
      .options(header_option_table(arguments_.reader))
      .options(point_option_table(arguments_.points));
  declare_common(training, arguments_.common, kExpansion | kThreads | kCode);

  SampleArguments& sample = arguments_.sample;
  out.add("out", &sample.out, "FILE.csv or FILE.npy; default: csv on standard output")
      .of_kind(OptionKind::file)
      .short_form("-o");
  Declaration& sampling = command("sample",
                                  "Draw points from a density, with what tells whether they can be trusted: "
                                  "effective samples, acceptance, R-hat.");
  sampling.positional("MODEL", sample.model, "Model file or run directory of a density")
      .options(sample_option_table(sample.options))
      .options(out);
  declare_common(sampling, arguments_.common, kThreads | kCode);
}

}  // namespace selfnorm::cli

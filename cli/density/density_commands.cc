// The options of densities: how they are trained, and sampling.
#include "grammar/grammar.h"

namespace selfnorm::cli {

void Grammar::declare_density_commands() {
  DensityArguments& density = arguments_.density;
  Declaration& training =
      command("train density",
              "Train an unnormalised density exp(-E(x)) together with its log Z on points: tables, arrays or "
              "binary vectors; evaluate it on held-out rows and write a run directory. No option is needed.");
  training.files("DATA", density.run.train,
                 "Rows of numbers and words, one or more files: csv, tsv, JSON lines, npy, npz, safetensors, "
                 "svmlight");
  declare_run(
      training, density.run, "DATA",
      "Fraction of the rows of DATA held out for validation when there is no --valid, 0..0.5; auto: 0.1");
  OptionTable format, out;
  format.add("format", &arguments_.reader.format, "Format of the data; auto looks at content and extension")
      .one_of({"auto", "csv", "tsv", "npy", "npz", "safetensors", "svmlight"});
  OptionTable kinds;
  kinds.add(
      "categorical", &arguments_.points.categorical,
      "csv, tsv, JSON lines: columns that are categories although they look like numbers; columns of words "
      "are so by themselves");
  training.options(density_option_table(density.options))
      .options(kinds)
      .options(format)
      .options(header_option_table(arguments_.reader))
      .options(point_option_table(arguments_.points));
  declare_common(training, arguments_.common, kExpansion | kThreads | kCode | kTrainingDevice);

  SampleArguments& sample = arguments_.sample;
  OptionTable drawn = sample_option_table(sample.options), words;
  for (const char* name : {"method", "chains", "pool"}) drawn.find(name)->of("density");
  words
      .add("temperature", &sample.temperature,
           "Language models: draw words from p^(1/T); 0: the most probable")
      .in(0, 100)
      .of("lm");
  words.add("longest", &sample.longest, "Language models: end a sentence after N words").at_least(1).of("lm");
  out.add("out", &sample.out, "FILE.csv or FILE.npy, of sentences any name; default: standard output")
      .of_kind(OptionKind::file)
      .short_form("-o");
  Declaration& sampling =
      command("sample",
              "Draw points from a density, with what tells whether they can be trusted "
              "(effective samples, acceptance, R-hat), or sentences from a language model.");
  sampling.positional("MODEL", sample.model, "Model file or run directory of a density or a language model")
      .options(drawn)
      .options(words)
      .options(out);
  declare_common(sampling, arguments_.common, kThreads | kCode);
}

}  // namespace selfnorm::cli

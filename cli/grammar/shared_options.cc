#include "crf/crf_model.h"
#include "grammar/grammar.h"

namespace selfnorm::cli {
namespace {

OptionTable expansion_option_table(CommonArguments& common) {
  OptionTable table;
  table
      .add("max-expansion", &common.max_expansion,
           "Largest factor by which compressed data of more than 100 MB may expand")
      .at_least(1);
  return table;
}

OptionTable thread_option_table(CommonArguments& common) {
  OptionTable table;
  table.add("threads", &common.threads, "Threads to use; 0 takes all cores. Results do not depend on it")
      .in(0, 1024);
  return table;
}

void declare_reader(Declaration& command, ReaderArguments& reader, const std::vector<std::string>& others,
                    const std::string& words) {
  std::vector<std::string> formats{"auto", "svmlight", "csv", "tsv",        "npy",
                                   "npz",  "text",     "idx", "safetensors"};
  formats.insert(formats.end(), others.begin(), others.end());
  OptionTable format;
  format.add("format", &reader.format, words).one_of(formats).of("classifier,lm,density,crf");
  OptionTable rows = read_option_table(reader.options).of("classifier,lm");
  rows.find("cache")->of("classifier");
  command.options(format)
      .options(rows, {"target"})
      .options(header_option_table(reader).of("classifier,lm,density,regressor"))
      .options(rows, {"weight-column", "labels", "skip-bad", "cache"});
}

}  // namespace

// --allow-code: consent is the user's own. A record of a run or a config file, which may come with a model,
// cannot give it (run_record.cc, config_file.cc).
void declare_common(Declaration& command, CommonArguments& common, unsigned groups) {
  if (groups & kExpansion) command.checked(expansion_option_table, common);
  if (groups & kThreads) command.checked(thread_option_table, common);
  OptionTable table;
  if (groups & kDevice)
    table
        .add("device", &common.device,
             "What sums over the classes of a softmax head: cpu, cuda or cuda:N (an NVIDIA GPU), or auto, a "
             "GPU where there is one and the head "
             "is large. Results of one GPU are the same each time, and differ from those of the CPU by "
             "rounding")
        .of("classifier,lm");
  if (groups & kTrainingDevice)
    table.add(
        "device", &common.device,
        "What takes the steps: cpu, cuda or cuda:N (an NVIDIA GPU; mlp energies with snl or nce; regressors "
        "of numbers without bounds, with mdn, snl, nce, is or ranking-nce; classifiers without an encoder, "
        "but for snl, is, nce and ranking-nce on sparse rows; the output layer, with those or exact or "
        "penalty, of language models and of classifiers with an encoder), or auto, a GPU where there is one "
        "that can, and, for classes, the work is large. Those of one GPU have the same bits each time, and "
        "differ from the CPU's by rounding");
  if (groups & kCode)
    table.add("allow-code", &common.allow_code,
              "Load TorchScript modules, which are programs that run with your rights; SELFNORM_ALLOW_CODE=1 "
              "does the same. info never loads them");
  table.add("json", &common.json, "Print one JSON object on standard output and nothing else there");
  table.add("quiet", &common.quiet,
            "No progress and no notes on standard error; results, warnings and errors as ever");
  table.add("config", &common.config, "TOML file with option values; the command line wins over it")
      .of_kind(OptionKind::file);
  command.options(table);
}

void declare_reader(Declaration& command, ReaderArguments& reader) {
  declare_reader(command, reader, {}, "Format of the data; auto looks at content and extension");
}

void declare_any_reader(Declaration& command, ReaderArguments& reader) {
  std::vector<std::string> sentences = sequence_format_names();
  std::erase(sentences, "auto");
  declare_reader(command, reader, sentences,
                 "Format of the data; auto looks at content and extension; columns, conllu, attributes: "
                 "sentences for CRFs, whose auto is the format they were trained on");
}

void declare_predict_reader(Declaration& command, ReaderArguments& reader) {
  OptionTable format, rows = read_option_table(reader.options).of("classifier");
  format
      .add("format", &reader.format,
           "Format of the data; auto looks at content and extension; sentences: for CRFs, raw text with one "
           "sentence a line; columns, conllu, attributes: a token a line")
      .one_of({"auto", "svmlight", "csv", "tsv", "npy", "npz", "text", "idx", "safetensors", "sentences",
               "columns", "conllu", "attributes"});
  command.options(format)
      .options(rows, {"target"})
      .options(header_option_table(reader).of("classifier,density,regressor"))
      .options(rows, {"skip-bad"});
}

OptionTable header_option_table(ReaderArguments& reader) {
  OptionTable table;
  table.add("header", &reader.header, "csv, tsv: whether the first row names the columns")
      .one_of({"auto", "yes", "no"});
  table.add("decimal-comma", &reader.decimal_comma,
            "csv, tsv: 1,5 is a number; files with semicolons are read so without this");
  return table;
}

OptionTable head_option_table(HeadNames& head) {
  OptionTable table;
  table.add("weight-name", &head.weight,
            "Softmax head: its weight tensor, K x d; default weight, W, lm_head.weight or the only matrix");
  table.add("bias-name", &head.bias, "Softmax head: its bias tensor, K; default bias, b or as the weight");
  return std::move(table.of("classifier,lm"));
}

OptionTable point_option_table(PointArguments& points) {
  OptionTable table;
  table.add("drop", &points.drop, "Points: columns left out, by name or number from 0, separated by commas")
      .of("density,regressor");
  table.add("array", &points.array, "Points: npz, safetensors: the array of the points").of("density");
  return table;
}

void Grammar::declare_any_data(Declaration& command) {
  OptionTable log_z = log_z_option_table(arguments_.log_z).of("density");
  log_z.find("precision")->of("density,regressor");
  command.options(log_z)
      .options(point_option_table(arguments_.points))
      .options(head_option_table(arguments_.head));
  declare_any_reader(command, arguments_.reader);
}

void declare_run(Declaration& command, RunArguments& run, const std::string& data,
                 const std::string& hold_out) {
  OptionTable table;
  table.add("valid", &run.valid, "Validation data; without it a part of " + data + " is held out")
      .of_kind(OptionKind::file);
  table.add("hold-out", &run.hold_out, hold_out);
  table.add("out", &run.out, "Run directory; default out/<" + data + ">-<objective>, numbered when taken")
      .of_kind(OptionKind::directory);
  table.add("resume", &run.resume,
            "Continue the interrupted run in --out (" + data + " and options come from its record)");
  table.add("overwrite", &run.overwrite, "Replace a run that is already in --out");
  table.add("checkpoint-seconds", &run.checkpoint_seconds,
            "Seconds between checkpoints; 0: one after every step");
  table.add("no-report", &run.no_report, "Do not write report.html, the page of the run");
  table.add("verbose", &run.verbose,
            "Also show what training computes with: loss, penalty, log Z, b, effective samples");
  table.add("force", &run.force,
            "Train although the data look like a mistake, or need more memory or disk than there is");
  command.options(table);
}

}  // namespace selfnorm::cli

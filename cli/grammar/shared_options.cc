#include <cstdlib>

#include "crf/crf_model.h"
#include "grammar/grammar.h"

namespace selfnorm::cli {

// --allow-code: consent is the user's own. A record of a run or a config file, which may come with a model,
// cannot give it (run_record.cc, config_file.cc).
void declare_common(Declaration& command, CommonArguments& common, unsigned groups) {
  if (groups & kExpansion)
    command.real("--max-expansion", common.max_expansion,
                 "Compressed data of more than 100 MB may expand to so many times their size; >= 1");
  if (groups & kThreads)
    command.integer("--threads", common.threads,
                    "Threads to use; 0 takes all cores. Results do not depend on it");
  if (groups & kCode) {
    const char* set = std::getenv("SELFNORM_ALLOW_CODE");
    common.allow_code = set != nullptr && std::string_view(set) == "1";
    command.flag("--allow-code", common.allow_code,
                 "Load TorchScript modules: programs, which run with your rights; or SELFNORM_ALLOW_CODE=1. "
                 "info never does");
  }
  command.flag("--json", common.json, "Print one JSON object on standard output and nothing else there")
      .flag("--quiet", common.quiet, "No progress and no notes on standard error")
      .file("--config", common.config, "TOML file with option values; the command line wins over it");
}

void declare_any_data(Declaration& command, Arguments& arguments) {
  declare_log_z(command, arguments.log_z);
  declare_points(command, arguments.points);
  declare_head(command, arguments.head);
  declare_any_reader(command, arguments.reader);
}

namespace {

void declare_reader(Declaration& command, ReaderArguments& reader, const std::vector<std::string>& others,
                    const std::string& words) {
  ReadOptions& o = reader.options;
  std::vector<std::string> formats{"auto", "svmlight", "csv", "tsv",        "npy",
                                   "npz",  "text",     "idx", "safetensors"};
  formats.insert(formats.end(), others.begin(), others.end());
  command.choice("--format", reader.format, formats, words)
      .text("--target", o.target, "csv, tsv: the label column, by name or zero-based index")
      .choice("--header", reader.header, {"auto", "yes", "no"},
              "csv, tsv: whether the first row names the columns")
      .text("--weight-column", o.weight_column,
            "csv, tsv: column of example weights, by name or zero-based index")
      .file("--labels", o.labels_path, "npy, npz, safetensors, idx: file with the labels")
      .integer("--skip-bad", o.skip_bad, "Leave out up to N bad rows and report them");
}

}  // namespace

void declare_reader(Declaration& command, ReaderArguments& reader) {
  declare_reader(command, reader, {}, "Format of the data; auto looks at content and extension");
}

void declare_any_reader(Declaration& command, ReaderArguments& reader) {
  std::vector<std::string> sentences = sequence_format_names();
  std::erase(sentences, "auto");
  declare_reader(command, reader, sentences,
                 "Format of the data; auto looks at content and extension; columns, conllu, attributes: "
                 "sentences for chains, whose auto is the format they were trained on");
}

void declare_head(Declaration& command, HeadNames& head) {
  command
      .text("--weight-name", head.weight,
            "Softmax head: its weight tensor, K x d; default weight, W, lm_head.weight or the only matrix")
      .text("--bias-name", head.bias, "Softmax head: its bias tensor, K; default bias, b or as the weight");
}

}  // namespace selfnorm::cli

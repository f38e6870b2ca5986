#include "grammar/grammar.h"

namespace selfnorm::cli {

TrainOptions language_defaults() {
  TrainOptions o;
  o.objective.name = "snl";
  o.objective.samples = 200;
  o.encoder.kind = "context";
  o.encoder.dimension = 64;
  o.encoder.hidden = 128;
  o.l2 = 0;
  o.epochs = 5;
  o.batch = 512;
  o.patience = 2;
  return o;
}

void declare_run(Declaration& command, RunArguments& run, const std::string& data,
                 const std::string& hold_out) {
  command.file("--valid", run.valid, "Validation data; without it a part of " + data + " is held out")
      .text("--hold-out", run.hold_out, hold_out)
      .option("--out", run.out, "Run directory; default out/<" + data + ">-<objective>, numbered when taken",
              ValueKind::kDirectory)
      .flag("--resume", run.resume,
            "Continue the interrupted run in --out (" + data + " and options come from its record)")
      .flag("--overwrite", run.overwrite, "Replace a run that is already in --out")
      .real("--checkpoint-seconds", run.checkpoint_seconds, "Seconds between checkpoints; 0 after every step")
      .flag("--no-report", run.no_report, "Do not write report.html, the page of the run")
      .flag("--force", run.force,
            "Train although the data look like a mistake, or need more memory or disk than there is");
}

void declare_text(Declaration& command, ReaderArguments& reader) {
  TextOptions& text = reader.options.text;
  command.integer("--ngrams", text.ngrams, "text: longest word n-gram; 1..8")
      .integer("--char-ngrams-min", text.char_ngrams_min,
               "text: shortest character n-gram of a word; 1..12, 0: none")
      .integer("--char-ngrams-max", text.char_ngrams_max, "text: longest character n-gram; 1..12, 0: none")
      .integer("--min-count", text.min_count, "text: keep n-grams in at least N texts; >= 1")
      .integer("--max-vocabulary", text.max_vocabulary,
               "text: keep at most the N most frequent n-grams; 0 keeps all")
      .integer("--hash-buckets", text.hash_buckets,
               "text: hash n-grams into N features; 0 keeps a vocabulary")
      .flag("--no-tf-idf", reader.no_tf_idf, "text: counts instead of tf-idf")
      .flag("--keep-case", reader.keep_case, "text: do not lower the case of letters");
}

}  // namespace selfnorm::cli

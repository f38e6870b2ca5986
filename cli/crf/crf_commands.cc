// The options of CRFs: how they are trained, and what is tagged.
#include "crf/crf_model.h"
#include "grammar/grammar.h"

namespace selfnorm::cli {
namespace {

OptionTable sentence_option_table(CrfArguments& crf) {
  OptionTable table;
  table
      .add("format", &crf.format,
           "columns: a token a line, a blank line between sentences; conllu; attributes: label TAB "
           "attribute[:value] ..., as of CRFsuite; auto looks at the content")
      .one_of(sequence_format_names());
  table.add(
      "target", &crf.target,
      "Column of the labels, by number from 0, or in CoNLL-U by name (UPOS, XPOS, ...); default: the last "
      "one, in CoNLL-U UPOS");
  table
      .add("template", &crf.template_file,
           "Feature templates as of CRF++ and wapiti (U00:%x[-1,0], B), with prefixes %p, suffixes %s, lower "
           "case %l, shapes %h and regular expressions %m, %t; default: good ones for tagging, or for "
           "chunking where there are several input columns")
      .of_kind(OptionKind::file);
  table.add("min-count", &crf.min_count, "Keep attributes seen at least N times in TRAIN").at_least(1);
  return table;
}

OptionTable tag_option_table(TagArguments& t) {
  OptionTable table;
  const std::string found = option_text("decode", t.decode);
  table
      .add("format", &t.format,
           "Format of DATA; auto: that of the data the model was trained on. columns for a model of CoNLL-U: "
           "a word a line, where its templates read the form alone")
      .one_of(sequence_format_names());
  table
      .add("decode", &t.decode,
           "viterbi: the most probable labelling; posterior: the most probable label of every token; sample: "
           "a labelling drawn from p(y|x), exactly")
      .one_of({"viterbi", "posterior", "sample"});
  table
      .add("n-best", &t.n_best,
           "viterbi: the N most probable labellings, sample: N independent ones, each after a line \"# "
           "sentence=I rank=R\", which score, evaluate and tag know in every format")
      .in(1, 1000)
      .only(t.decode != "posterior", option_text("decode", "viterbi or sample"), found);
  table.add("seed", &t.seed, "sample: the same draws for the same seed")
      .only(t.decode == "sample", option_text("decode", "sample"), found);
  table
      .add("score", &t.score,
           "log-probability of a labelling, in a line \"# sentence=I rank=R log_prob=X kind=KIND\" before "
           "it; raw: its score alone, less b(x) where the model has one (kind amortised); exact: normalised "
           "by log Z")
      .one_of({"none", "raw", "exact"});
  table.add("marginals", &t.marginals,
            "A further column: the probability of the token's label; of CoNLL-U p=PROBABILITY in MISC");
  table.add("all-marginals", &t.all_marginals,
            "Further columns: LABEL:PROBABILITY of every label of the model; of CoNLL-U p[LABEL]=PROBABILITY "
            "in MISC");
  return table;
}

}  // namespace

void Grammar::declare_crf_commands() {
  CrfArguments& crf = arguments_.crf;
  Declaration& training = command("train crf",
                                  "Train a linear-chain conditional random field for tagging, chunking or "
                                  "entities, whose raw score of a labelling is its log-probability; evaluate "
                                  "it on held-out sentences and write a run directory. No option is needed.");
  training.files("TRAIN", crf.run.train,
                 "Labelled sentences: columns, CoNLL-U or attributes, plain or gzipped, one or more files; - "
                 "is standard input");
  declare_run(training, crf.run, "TRAIN",
              "Fraction of the sentences of TRAIN held out for validation when there is no --valid, 0..0.5; "
              "auto: 0.1, or 0 for the constraint, whose bound is about all of TRAIN");
  training.options(sentence_option_table(crf)).options(train_option_table("crf", crf.options));
  declare_common(training, arguments_.common, kExpansion | kThreads);

  TagArguments& tag = arguments_.tag;
  Declaration& tagging =
      command("tag",
              "Label sentences with a CRF, one after the other as they are read: the columns of every "
              "token and its label after them (where the labels of the training data are, if DATA have "
              "none), separated by tabs, and a blank line after a sentence. Attributes are written with the "
              "label in the first field, CoNLL-U as CoNLL-U with the label in the target column; all else is "
              "as it was, byte for byte, but for what tag itself wrote before, which is replaced.");
  tagging.positional("MODEL", tag.model, "Model file or run directory of 'train crf'")
      .positional(
          "DATA", tag.data,
          "Sentences as those the model was trained on, with or without labels, which are not looked at; a "
          "line of attributes without a label begins with a tab; plain or gzipped; default: standard input",
          false)
      .checked(tag_option_table, tag);
  declare_common(tagging, arguments_.common, kExpansion | kThreads);
}

}  // namespace selfnorm::cli

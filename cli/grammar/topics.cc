// The first page of help, and `selfnorm help TOPIC`.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "grammar/parser.h"

namespace selfnorm::cli {
namespace {

struct Topic {
  const char* name;
  const char* text;  // its page
};

constexpr const char* kOverview =
    R"text(selfnorm: probability models whose raw scores are already log-probabilities.

Train   train classifier DATA     a label for each row or text
        train lm TEXT             the next word
        train crf SENTENCES       a label for each word
        train regressor TABLE     a number, as a whole distribution
        train density TABLE       how usual a row is
Use     predict MODEL [DATA]      answers with probabilities; without DATA from standard input
        score MODEL [DATA]        log-probabilities of given candidates
        tag MODEL [SENTENCES]     sentences with their labels, in the format they came in
        sample MODEL -n N         draw rows or sentences
Inspect evaluate MODEL.. DATA     how good models are on held-out data
        audit MODEL DATA          how far raw scores can be trusted, with a certificate
        normalize MODEL           make raw scores of any softmax layer log-probabilities
        bounds MODEL DATA         what self-normalisation costs
        info MODEL                what is in a model file
        report RUN..              one HTML page of runs, compared
Data    data generate             data with a known truth
Other   reproduce, completions, man, help

'selfnorm COMMAND --help' shows options, 'selfnorm help TOPIC' explains: data, choosing, scores, output.
)text";

constexpr std::array<Topic, 4> kTopics = {{
    {"data",
     R"text(Data: what each command reads. The format is found by content and extension; --format names it.

Classifier  label<TAB>text, a line each; CSV or TSV with a header (numbers, categories, missing values, and
            texts by --text COLUMN); JSON lines; svmlight; npy, npz, safetensors, idx.
            The label column is --target NAME, or is called label, target, class or y.
Language    plain text, a sentence a line, words separated by white space.
CRF         a token and its label a line, a blank line between sentences; CoNLL-U; CRFsuite attributes.
Regressor   CSV, TSV or JSON lines with a header; --target NAME, or the column y or target.
Density     CSV, TSV, npy: rows of numbers.

All of them may be gzipped; - is standard input. Several files: give them all, or 'data/part-*.csv' in quotes.
Separators are commas, semicolons (with decimal commas; elsewhere --decimal-comma) or tabs; fields may be
quoted. Parquet is not read:
  python3 -c "import pandas; pandas.read_parquet('x.parquet').to_csv('x.csv', index=False)"
)text"},
    {"choosing", R"text(Which command, which objective? docs/guide/choosing.md draws it.

What is to be predicted?
  a label, one of a list         train classifier    a label for each word         train crf
  a number                       train regressor     the next word                 train lm
  nothing: how usual is a row?   train density

--objective of classifiers; without it, exact, or nce where summing over 1,000 classes or more would take long:
  exact      maximum likelihood: log Z is free, so probabilities are summed over all classes.
  penalty    maximum likelihood with log Z near 0: raw scores are log-probabilities, one dot product each.
  nce, snl   do not sum over the classes while training: from thousands of classes on, with --encoder bag.
)text"},
    {"scores",
     R"text(Which number do I get? Every log-probability that is printed says what it is, and how far it can be off.

exact      summed over all classes: right, at a cost that grows with the number of classes. 'predict' gives these.
nearest    the nearest clusters of classes summed exactly, the rest estimated: a small part of the cost.
network    a raw score less b(x), a small network that estimates log Z; linear: less a linear function.
raw        one score as it is: a log-probability as far as log Z is 0, which 'audit' measures and certifies.
amortised  a raw score less the b(x) that the model was trained with ('normalize --amortise').

'score' takes the cheapest of them that is certified within --within (0.1, for 99% of inputs), else exact. 'train' and
'normalize --within' fit and certify them; 'info' lists them. --raw, --amortised, --exact and --rung NAME choose.
)text"},
    {"output", R"text(Output: results on standard output, everything else on standard error.

--json                 one JSON object on standard output and nothing else there
--output-format WORD   predict: table (for people), csv, json (an object a line); auto: table on a terminal
--out FILE             a file instead; it appears whole or not at all
--quiet                no progress and no notes; results, warnings, errors and exit codes stay

Exit codes: 0 good, 1 something about the input, 2 a bug, 3 a requirement not met or training that diverged,
130 interrupted. A training writes a run directory: model.safetensors, config.json, metrics.jsonl, report.html.
)text"},
}};

}  // namespace

std::string overview_text() { return kOverview; }

std::string topic_text(const std::string& name) {
  const auto found = std::ranges::find_if(kTopics, [&](const Topic& topic) { return name == topic.name; });
  return found == kTopics.end() ? "" : found->text;
}

}  // namespace selfnorm::cli

// Bad input of the commands of CRFs: what is refused, with file and line, and that nothing is left behind.
#include <gtest/gtest.h>

#include "cli/sentence_data.h"

namespace selfnorm::cli {
namespace {

TEST(CrfErrors, BadDataSayWhereAndLeaveNothing) {
  const Folder folder;
  folder.write("ragged.conll", "a X\nb\n");
  folder.write("one.conll", "a\nb\n");
  folder.write("same.conll", "a X\nb X\n");
  folder.write("empty.conll", "\n\n");
  const std::string token = "1\ta\ta\tX\t_\t_\t_\t_\t_\t_\n";
  folder.write("hollow.conllu", token + "\n# c\n\n" + token);
  folder.write("open.conllu", token + "2\ta\ta\t_\t_\t_\t_\t_\t_\t_\n");
  folder.write("good.conll", sentences_text(30));
  folder.write("column.tpl", "U0:%x[0,0]\nU1:%x[0,7]\n");
  folder.write("target.tpl", "U0:%x[0,1]\n");
  folder.write("syntax.tpl", "U0:%x[0\n");
  folder.write("empty.tpl", "");
  folder.write("unseen.conll", "a B-ORG\n");
  const auto before = folder.names();
  const auto error = [&](const std::string& data, const std::vector<std::string>& more,
                         const std::string& text) {
    expect_user_error(folder.run(train_crf(data, "run", more)), text);
  };
  error("ragged.conll", {}, "ragged.conll:2");
  error("one.conll", {}, "one.conll:1");
  error("same.conll", {}, "same.conll:1: found one label");
  error("hollow.conllu", {}, "hollow.conllu:3: found a sentence without a token");
  error("open.conllu", {}, "open.conllu:2: found _ in column 3");
  error("empty.conll", {}, "no sentence");
  error("missing.conll", {}, "missing.conll");
  error("good.conll", {"--target", "3"}, "the target is column '3'");
  error("good.conll", {"--template", "column.tpl"}, "column.tpl:2");
  error("good.conll", {"--template", "target.tpl"}, "target.tpl:1");
  error("good.conll", {"--template", "syntax.tpl"}, "syntax.tpl:1");
  error("good.conll", {"--template", "empty.tpl"}, "empty.tpl");
  error("good.conll", {"--template", "missing.tpl"}, "missing.tpl");
  error("good.conll", {"--valid", "unseen.conll"}, "unseen.conll:1");
  EXPECT_EQ(folder.names(), before);
}

TEST(CrfErrors, OptionsOutOfRangeAndOptionsThatDoNothing) {
  const Folder folder;
  folder.write("data.conll", sentences_text(30));
  const auto before = folder.names();
  const auto error = [&](const std::vector<std::string>& more, const std::string& text) {
    expect_user_error(folder.run(train_crf("data.conll", "run", more)), text);
  };
  error({"--l2", "-1"}, "l2");
  error({"--alpha", "-1"}, "alpha");
  error({"--min-count", "0"}, "--min-count");
  error({"--hold-out", "0.7"}, "--hold-out");
  error({"--hold-out", "0.2", "--valid", "data.conll"}, "--hold-out");
  error({"--objective", "nce"}, "exact|penalty|constraint|sampled");
  error({"--objective", "exact", "--alpha", "1"}, "--alpha belongs to --objective penalty, sampled");
  error({"--delta", "1"}, "--delta belongs to --objective constraint");
  error({"--gamma", "0.2"}, "--gamma belongs to --objective sampled");
  error({"--epochs", "3"}, "--epochs belongs to --optimiser adagrad");
  error({"--optimiser", "adagrad", "--steps", "3"}, "--steps belongs to --optimiser lbfgs");
  EXPECT_EQ(folder.names(), before);
  expect_user_error(folder.run({"train", "crf"}), "needs TRAIN");
}

TEST(CrfErrors, ModelsOfOtherKinds) {
  const Folder folder;
  folder.generate("data.svm", 60, 3);
  folder.write("data.conll", sentences_text(30));
  ASSERT_EQ(folder.run(train_crf("data.conll", "run", {"--steps", "3"})).code, 0);
  const std::string classifier = "data.svm.truth.safetensors";
  expect_user_error(folder.run({"tag", classifier, "data.conll"}), "is not a CRF");
  expect_user_error(folder.run({"tag", "missing", "data.conll"}), "missing");
  expect_user_error(folder.run({"evaluate", "run", classifier, "data.conll"}), "evaluate them apart");
  expect_user_error(folder.run({"audit", "run", "data.conll", "--states-name", "h"}), "run is a CRF");
  expect_user_error(folder.run({"bounds", "run", "data.conll"}), "run is a CRF");
  expect_user_error(folder.run({"sample", "run", "-n", "3"}), "run is a CRF");
  expect_user_error(folder.run({"predict", "run", "data.conll", "--quantiles", "0.5"}), "--quantiles");
  for (const std::string command : {"evaluate", "score", "audit"}) {
    expect_user_error(folder.run({command, "run", "data.conll", "--format", "csv"}),
                      "--format csv: run is a CRF; expected auto, columns, conllu, attributes");
    expect_user_error(folder.run({command, "run", "data.conll", "--header", "no"}), "--header");
    expect_user_error(folder.run({command, classifier, "data.svm", "--format", "conllu"}),
                      "--format conllu is of sentences");
  }
  expect_user_error(folder.run({"evaluate", "run", "data.conll", "--limit", "3"}), "--limit");
  expect_user_error(folder.run({"score", "run", "data.conll", "--top", "3"}), "--top");
}

TEST(CrfErrors, SentencesThatDoNotFitTheModel) {
  const Folder folder;
  folder.write("data.conll", sentences_text(30));
  ASSERT_EQ(folder.run(train_crf("data.conll", "run", {"--steps", "3"})).code, 0);
  folder.write("wide.conll", "a b X\n");
  folder.write("unseen.conll", "a O\nb B-ORG\n");
  folder.write("words.conll", "a\nb\n");
  expect_user_error(folder.run({"tag", "run", "wide.conll"}), "wide.conll:1");
  folder.write("text.conllu", "# text = a b\n1\ta\ta\tO\t_\t_\t_\t_\t_\t_\n");
  expect_user_error(folder.run({"tag", "run", "text.conllu"}), "for CoNLL-U say --format conllu");
  expect_user_error(folder.run({"tag", "run", "data.conll", "--n-best", "0"}), "--n-best");
  expect_user_error(folder.run({"tag", "run", "data.conll", "--n-best", "2", "--decode", "posterior"}),
                    "--n-best belongs to --decode viterbi");
  expect_user_error(folder.run({"tag", "run", "data.conll", "--marginals", "--all-marginals"}), "only one");
  EXPECT_TRUE(folder.run({"evaluate", "run", "unseen.conll", "--json"}).json()["nll_exact"].is_null());
  expect_user_error(folder.run({"score", "run", "unseen.conll"}), "unseen.conll:2: found the label 'B-ORG'");
  EXPECT_EQ(folder.run({"tag", "run", "unseen.conll"}).code, 0);
  expect_user_error(folder.run({"evaluate", "run", "words.conll"}), "words.conll:1");
  expect_user_error(folder.run({"score", "run", "words.conll"}), "words.conll:1");
  expect_user_error(folder.run({"evaluate", "run", "empty.conll"}), "empty.conll");
}

}  // namespace
}  // namespace selfnorm::cli

// What a new user does wrong in the first hour, and what training does with data that cannot be meant.
#include <gtest/gtest.h>

#include "cli/head.h"
#include "cli/regressor_data.h"
#include "cli/sentence_data.h"
#include "data/array_bytes.h"

namespace selfnorm::cli {
namespace {

TEST(FirstHour, TheModelComesFirst) {
  const Folder folder;
  folder.generate();
  write_states(folder / "states.safetensors", 20, false);
  RandomHead().write(folder / "head.safetensors");
  for (const std::string command : {"score", "evaluate", "audit", "bounds", "tag", "predict"}) {
    expect_user_error(folder.run({command, "data.svm", kTruth}),
                      std::string("data.svm is data and ") + kTruth +
                          " is a model, and the model comes first: selfnorm " + command + " " + kTruth +
                          " data.svm");
    expect_user_error(folder.run({command, "data.svm", "data.svm"}),
                      "data.svm is data, not a model; expected MODEL DATA");
    expect_user_error(folder.run({command, "states.safetensors", kTruth}), "the model comes first");
    expect_user_error(folder.run({command, kTruth, kTruth}), "is a model, not data");
  }
  expect_user_error(
      folder.run({"normalize", "states.safetensors", "--states", kTruth, "-o", "n.safetensors"}),
      std::string("normalize ") + kTruth + " --states states.safetensors");
  for (const std::string command : {"info", "sample"})
    expect_user_error(folder.run({command, "data.svm"}),
                      "data.svm is data, not a model; expected MODEL, where");
}

TEST(FirstHour, WhatIsNotThereOrEmptyIsNamedWithTheRemedy) {
  const Folder folder;
  folder.generate();
  folder.write("empty.csv", "");
  std::filesystem::create_directories(folder / "runs/first");
  std::filesystem::copy_file(folder / kTruth, folder / "runs/first/model.safetensors");
  for (const std::string command : {"score", "evaluate", "audit", "bounds", "tag", "predict"}) {
    expect_user_error(folder.run({command, "run/a", "data.svm"}),
                      "there is no model run/a: there is no folder run");
    expect_user_error(folder.run({command, "runs/frist", "data.svm"}), "did you mean runs/first?");
    expect_user_error(folder.run({command, "runs", "data.svm"}),
                      "the folder runs has no model.safetensors; did you mean runs/first?");
    expect_user_error(folder.run({command, "empty.csv", "data.svm"}),
                      "the file is empty, so it is no model; train it");
    expect_user_error(folder.run({command, kTruth, "empty.csv"}),
                      "the file is empty; expected rows of data: write");
  }
  for (const std::string command : {"score", "evaluate", "audit", "predict"}) {
    expect_user_error(folder.run({command, kTruth, "dat.svm"}),
                      "cannot read dat.svm: there is no such file; did you mean data.svm?");
    expect_user_error(folder.run({command, kTruth, "runs"}), "several files: 'runs/*.csv'");
  }
  for (const std::string family : {"classifier", "regressor", "density", "crf", "lm"}) {
    const auto train = [&](const std::string& data) {
      return folder.run({"train", family, data, "--out", "out"});
    };
    expect_user_error(train("dat.svm"), "there is no such file; did you mean data.svm?");
    expect_user_error(train("empty.csv"), ", or give another file");
    expect_user_error(train("runs"), "several files: 'runs/*.csv'");
    expect_user_error(train("runs/first"),
                      "runs/first is a model, not data to train on; 'selfnorm predict runs/first DATA'");
  }
}

TEST(FirstHour, ArraysGoWhereTheyBelong) {
  const Folder folder;
  const std::string rows = raw<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  folder.write("states.npy", npy("<f4", "(2, 6)", rows));
  folder.write("labels.npy", npy("<i8", "(2,)", raw<int64_t>({0, 1})));
  folder.write("data.npz", zip({{"X.npy", npy("<f4", "(2, 6)", rows)},
                                {"y.npy", npy("<i8", "(2,)", raw<int64_t>({0, 1}))}}));
  folder.write("head.npz",
               zip({{"W.npy", npy("<f8", "(2, 6)", raw<double>({1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}))}}));
  folder.write("table.csv", "a,b\n1,2\n3,4\n");
  folder.write("text.txt", "well done\nnot at all\n");
  for (const std::string command : {"evaluate", "audit", "score", "predict", "bounds"}) {
    expect_user_error(folder.run({command, "states.npy", "states.npy"}),
                      "one array without a name, which is no model");
    expect_user_error(folder.run({command, "data.npz", "states.npy"}), "data by their names, not a model");
  }
  expect_user_error(folder.run({"info", "states.npy"}), "numpy.savez('head.npz', W=W, b=b)");
  const auto normalize = [&](const std::string& states) {
    return folder.run({"normalize", "head.npz", "--states", states, "-o", "n.npz"});
  };
  const std::string goes = "; --states takes hidden states, rows x 6 numbers, in npy, npz or safetensors";
  for (const std::string states : {"head.npz", "labels.npy", "table.csv", "text.txt"})
    expect_user_error(normalize(states), goes);
  EXPECT_NE(normalize("head.npz").err.find("found the weights of a softmax head"), std::string::npos);
  EXPECT_EQ(folder.run({"info", "head.npz", "--json"}).json()["weights"], "float64");
  EXPECT_EQ(normalize("states.npy").code, 0);
}

TEST(FirstHour, ATableWithoutTheColumnsOfTheModelSaysWhatIsThere) {
  const Folder folder;
  std::string numbers = "a,b,kind\n", words = "a,b,colour,kind\n";
  std::minstd_rand random(3);
  for (int i = 0; i < 60; ++i) {
    const double x = normal(random), z = normal(random);
    const char* kind = x > 0 ? "up" : "down";
    numbers += fmt::format("{},{},{}\n", x, z, kind);
    words += fmt::format("{},{},{},{}\n", x, z, i % 3 == 0 ? "red" : "blue", kind);
  }
  folder.write("numbers.csv", numbers);
  folder.write("words.csv", words);
  folder.write("other.csv", "p,q,r\n1,2,3\n4,5,6\n");
  folder.write("unlabelled.csv", "b,colour,a\n1,red,2\n");
  folder.write("more.csv", "id,b,kind,a\n7,1,up,2\n8,1,down,-2\n");
  for (const std::string name : {"numbers", "words"}) {
    ASSERT_EQ(
        folder.run({"train", "classifier", name + ".csv", "--target", "kind", "--out", name, "--quiet"}).code,
        0);
    const std::string needs =
        name == "numbers" ? "the model needs 'a', 'b'" : "the model needs 'a', 'b', 'colour'";
    for (const std::string command : {"evaluate", "predict"}) {
      const Outcome outcome = folder.run({command, name, "other.csv"});
      expect_user_error(outcome, needs);
      EXPECT_NE(outcome.err.find("the columns are 'p', 'q', 'r'"), std::string::npos) << outcome.err;
    }
  }
  expect_user_error(
      folder.run({"evaluate", "words", "unlabelled.csv"}),
      "found no column 'kind'; the model needs 'a', 'b', 'colour' and the label 'kind', and the "
      "columns are 'b', 'colour', 'a'; if the label has another name, say so by --target");
  EXPECT_EQ(folder.run({"predict", "words", "unlabelled.csv"}).code, 0);
  expect_user_error(folder.run({"score", "words", "words.csv", "--candidates", "downn"}),
                    "did you mean 'down'?");
  EXPECT_EQ(folder.run({"evaluate", "numbers", "more.csv", "--json"}).json()["n"], 2);
  folder.write("named.csv", "a,b,label\n1,2,up\n-1,2,down\n");
  const Outcome named = folder.run({"evaluate", "numbers", "named.csv"});
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_NE(named.err.find("column 'label' is taken as the label, because there is no 'kind'"),
            std::string::npos)
      << named.err;
}

TEST(FirstHour, DecimalCommasBetweenTabsAreAsked) {
  const Folder folder;
  std::string labelled = "x\tz\tlabel\n", points = "x\tz\n";
  for (int i = 0; i < 40; ++i) {
    labelled += fmt::format("{},{}\t{}\t{}\n", i % 7, i % 10, i, i % 7 > 3 ? "up" : "down");
    points += fmt::format("{},{}\t{}\n", i % 7, i % 9, i % 4);
  }
  folder.write("labelled.tsv", labelled);
  folder.write("points.tsv", points);
  folder.write("codes.csv", "label,code\nup,\"1,2\"\ndown,\"1,3\"\nup,\"1,2\"\n");
  const std::string asks =
      "decimal commas, such as '0,0': they are read by --decimal-comma, or taken as words by --categorical x";
  const std::vector<std::vector<std::string>> trainings = {
      {"train", "classifier", "labelled.tsv"},
      {"train", "density", "points.tsv", "--objective", "fit"},
      tiny_regressor("points.tsv", "r", {"--target", "z"})};
  for (std::vector<std::string> words : trainings) {
    words.insert(words.end(), {"--quiet"});
    if (words[1] != "regressor") words.insert(words.end(), {"--out", words[1]});
    expect_user_error(folder.run(words), asks);
    words.push_back("--decimal-comma");
    EXPECT_EQ(folder.run(words).code, 0) << words[1];
  }
  EXPECT_EQ(
      folder.run({"train", "classifier", "labelled.tsv", "--categorical", "x", "--out", "words", "--quiet"})
          .code,
      0);
  expect_user_error(folder.run({"train", "classifier", "codes.csv", "--out", "codes"}), "--categorical code");
}

TEST(FirstHour, SentencesWithoutTabsOrLabels) {
  const Folder folder;
  folder.write("good.conll", sentences_text(60));
  ASSERT_EQ(folder.run(train_crf("good.conll", "run", {"--steps", "3"})).code, 0);
  for (const char joint : {';', ','}) {
    std::string joined = sentences_text(60);
    std::ranges::replace(joined, ' ', joint);
    folder.write("joined.conll", joined);
    const std::string tabs = fmt::format("make tabs of it (tr '{}' '\\t' < FILE > NEW)", joint);
    expect_user_error(folder.run(train_crf("joined.conll", "r")), tabs);
    for (const std::string command : {"evaluate", "score", "tag", "predict"})
      expect_user_error(folder.run({command, "run", "joined.conll"}), tabs);
  }
  folder.write("lacks.conll", "Rome B-LOC\nwent\nto O\n");
  for (const std::string command : {"evaluate", "score", "tag", "predict"})
    expect_user_error(folder.run({command, "run", "lacks.conll"}),
                      "add what is missing here, such as its label");
  expect_user_error(folder.run(train_crf("lacks.conll", "r")), "such as its label");
  folder.write("empty.conll", "\n\n");
  for (const std::string command : {"score", "tag", "predict"}) {
    const Outcome outcome = folder.run({command, "run", "empty.conll"});
    EXPECT_NE(outcome.err.find("warning: empty.conll: found no sentence"), std::string::npos) << outcome.err;
  }
  std::string wordy;
  for (int i = 0; i < 200; ++i)
    wordy += fmt::format("word{} {}\n{}", i % 90, i % 2 == 0 ? "A" : "B", i % 9 == 8 ? "\n" : "");
  folder.write("wordy.conll", wordy);
  expect_user_error(folder.run(train_crf("wordy.conll", "r", {"--target", "0"})),
                    "the column named by --target has 90 different values, and the last one only 2");
}

TEST(FirstHour, TablesAreNoSentencesAndNoCorpus) {
  const Folder folder;
  std::string table = "text,label\n", texts, words;
  for (int i = 0; i < 40; ++i) {
    table += fmt::format("hello my word{},{}\n", i % 7, i % 2 == 0 ? "a" : "b");
    texts += fmt::format("{};hello my word{}\n", i % 2 == 0 ? "a" : "b", i % 7);
  }
  folder.write("table.csv", table);
  folder.write("texts.txt", texts);
  folder.write("good.conll", sentences_text(60));
  const auto lm = [&](const std::string& data) {
    return folder.run({"train", "lm", data, "--out", "l", "--epochs", "1"});
  };
  expect_user_error(lm("table.csv"), "'selfnorm train classifier'");
  expect_user_error(lm("texts.txt"), "'selfnorm train classifier'");
  expect_user_error(lm("good.conll"), "'selfnorm train crf'");
  expect_user_error(folder.run(train_crf("table.csv", "r")), "looks like a table");
  expect_user_error(folder.run(train_crf("texts.txt", "r")), "looks like a table");
  const std::vector<std::string> classifier{"train", "classifier", "texts.txt", "--out", "c", "--quiet"};
  expect_user_error(folder.run(classifier), "say --header no --target 0 --text 1");
  std::vector<std::string> said = classifier;
  said.insert(said.end(), {"--header", "no", "--target", "0", "--text", "1"});
  EXPECT_EQ(folder.run(said).code, 0);
  folder.generate_text("corpus.txt", 60);
  ASSERT_EQ(folder
                .run({"train", "lm", "corpus.txt", "--out", "lm", "--epochs", "1", "--quiet", "--dimension",
                      "4", "--hidden", "4"})
                .code,
            0);
  EXPECT_NE(folder.run({"predict", "lm", "table.csv"}).err.find("warning: table.csv: looks like a table"),
            std::string::npos);
  expect_user_error(folder.run_on("the", {"predict", "lm", "--candidates", "zzz"}),
                    "expected words of its training text");
  ASSERT_EQ(folder.run(train_crf("good.conll", "run", {"--steps", "3"})).code, 0);
  EXPECT_NE(folder.run({"predict", "run", "table.csv"}).err.find("warning: table.csv: looks like a table"),
            std::string::npos);
  EXPECT_NE(folder.run({"evaluate", "lm", "table.csv"}).err.find("warning: table.csv: looks like a table"),
            std::string::npos);
}

TEST(FirstHour, AFileOfTorchSaveSaysHowToSaveIt) {
  const Folder folder;
  folder.generate();
  folder.write("head.pt", zip({{"head/data.pkl", "x"}, {"head/data/0", "0123"}}));
  folder.write("old.bin", "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.");
  for (const std::string file : {"head.pt", "old.bin"}) {
    expect_user_error(folder.run({"info", file}), "save_file(");
    expect_user_error(folder.run({"audit", file, "data.svm"}), "save_file(");
    expect_user_error(folder.run({"score", kTruth, file}), "save_file(");
    expect_user_error(folder.run({"train", "classifier", file, "--out", "run"}), "save_file(");
  }
}

TEST(FirstHour, SemicolonsForEveryFamily) {
  const Folder folder;
  std::string labelled = "a;b;label\n", points = "a;b\n", table = "x;y\n";
  std::minstd_rand random(1);
  for (int i = 0; i < 60; ++i) {
    const double x = normal(random);
    std::string number = fmt::format("{:.3f}", x);
    number.replace(number.find('.'), 1, ",");
    labelled += fmt::format("{};{};{}\n", number, i % 7, x > 0 ? "up" : "down");
    points += fmt::format("{};{}\n", number, normal(random));
    table += fmt::format("{};{:.4f}\n", number, 2 * x + 0.1 * normal(random));
  }
  folder.write("labelled.csv", labelled);
  folder.write("points.csv", points);
  folder.write("table.csv", table);
  const auto trained = [&folder](std::vector<std::string> words) {
    const Outcome outcome = folder.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.err;
  };
  EXPECT_NE(trained({"train", "classifier", "labelled.csv", "--out", "c"}).find("2 features, 2 classes"),
            std::string::npos);
  trained({"train", "density", "points.csv", "--out", "d", "--objective", "fit", "--quiet"});
  EXPECT_NE(trained(tiny_regressor("table.csv", "r")).find("1 numeric columns x"), std::string::npos);
  std::ranges::replace(table, ';', '\t');
  folder.write("table.tsv", table);
  EXPECT_NE(trained(tiny_regressor("table.tsv", "t", {"--decimal-comma"})).find("1 numeric columns x"),
            std::string::npos);
}

TEST(FirstHour, TextInATableSaysWhereTextsGo) {
  const Folder folder;
  folder.write("data.csv", "label,review\ngood,well done\nbad,not at all\ngood,fine\n");
  expect_user_error(folder.run({"train", "classifier", "data.csv", "--out", "run"}), "--text review");
  EXPECT_EQ(
      folder.run({"train", "classifier", "data.csv", "--text", "review", "--out", "run", "--quiet"}).code, 0);
}

TEST(FirstHour, WhatCannotBeMeantIsRefusedUntilForced) {
  const Folder folder;
  std::string prices = "x,price\n", ids = "x,id\n", texts, bits = "x,y\n";
  std::minstd_rand random(2);
  for (int i = 0; i < 80; ++i) {
    prices += fmt::format("{},{:.2f}\n", normal(random), 100 + i % 40 + 0.25);
    ids += fmt::format("{},row{}\n", normal(random), i);
    texts += fmt::format("word{} this is text number {}\n", i, i);
    bits += fmt::format("{},{}\n", normal(random), i % 2);
  }
  folder.write("prices.csv", prices);
  folder.write("ids.csv", ids);
  folder.write("texts.txt", texts);
  folder.write("bits.csv", bits);
  const std::vector<std::string> classes{"train",   "classifier", "prices.csv", "--target", "price",
                                         "--steps", "2",          "--out",      "run",      "--quiet"};
  expect_user_error(folder.run(classes), "train regressor");
  expect_user_error(folder.run(classes), "--force");
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
  std::vector<std::string> forced = classes;
  forced.push_back("--force");
  EXPECT_EQ(folder.run(forced).code, 0);
  expect_user_error(folder.run({"train", "classifier", "ids.csv", "--target", "id", "--out", "r"}),
                    "80 different labels in 80 rows");
  expect_user_error(folder.run(train_crf("texts.txt", "r")), "looks like a file of texts");
  EXPECT_EQ(folder.run(train_crf("texts.txt", "crf", {"--force", "--steps", "1"})).code, 0);
  expect_user_error(folder.run(tiny_regressor("bits.csv", "r")), "train classifier");
}

TEST(FirstHour, NeedsAreSaidBeforeAndRefusedWhereThereIsLess) {
  const Folder folder;
  folder.generate();
  write_lumps(folder);
  write_table(folder, "table.csv");
  folder.generate_text();
  folder.write("data.conll", sentences_text(60));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"train", "classifier", "data.svm", "--out", "a", "--steps", "2"},
        {"train", "classifier", "data.svm", "--out", "b", "--encoder", "bag", "--epochs", "1"},
        {"train", "lm", "data.txt", "--out", "c", "--epochs", "1"},
        tiny_density("data.csv", "d"),
        tiny_regressor("table.csv", "e"),
        {"train", "crf", "data.conll", "--out", "f", "--steps", "2"}}) {
    const Outcome outcome = folder.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.err.find("\nneeds about "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("a checkpoint is "), std::string::npos) << outcome.err;
  }
  folder.write("wide.svm", "a 2000000000:1\nb 1:1\na 2:1\nc 3:1\n");
  const Outcome wide = folder.run({"train", "classifier", "wide.svm", "--out", "g"});
  expect_user_error(wide, "not enough ");
  EXPECT_NE(wide.err.find("--force"), std::string::npos);
}

TEST(FirstHour, AModelThatIsNotBetterThanASimpleOneIsSaid) {
  const Folder folder;
  write_lumps(folder);
  const Outcome far = folder.run(tiny_density("data.csv", "far", {"--learning-rate", "10", "--seed", "3"}));
  ASSERT_TRUE(far.code == 0 || far.code == 3) << far.err;  // steps so large may diverge
  EXPECT_NE(far.err.find("not better than a simple one"), std::string::npos) << far.err;
  EXPECT_NE(far.err.find("a Gaussian mixture"), std::string::npos) << far.err;
  const Outcome fit =
      folder.run({"train", "density", "data.csv", "--objective", "fit", "--out", "fit", "--json"});
  EXPECT_EQ(fit.err.find("not better"), std::string::npos) << fit.err;
  EXPECT_TRUE(fit.json()["audit"].contains("simple"));
  // Two kinds of rows, which independent bits cannot tell apart.
  std::string bits;
  std::minstd_rand random(4);
  for (int i = 0; i < 400; ++i) {
    const bool side = uniform(random) < 0.5;
    for (int j = 0; j < 12; ++j) bits += fmt::format("{}{}", j > 0 ? "," : "", side ? 1 : 0);
    bits += "\n";
  }
  folder.write("bits.csv", bits);
  const Outcome binary = folder.run(
      {"train", "density", "bits.csv", "--objective", "fit", "--proposal", "bernoulli", "--out", "bits"});
  EXPECT_NE(binary.err.find("products of Bernoullis"), std::string::npos) << binary.err;
  // Labels that nothing can tell, over-fitted.
  std::string noise;
  for (int i = 0; i < 60; ++i) {
    noise += uniform(random) < 0.5 ? "a" : "b";
    for (int j = 1; j <= 40; ++j) noise += fmt::format(" {}:{:.3f}", j, 3 * normal(random));
    noise += "\n";
  }
  folder.write("noise.svm", noise);
  const Outcome classes = folder.run({"train", "classifier", "noise.svm", "--objective", "exact", "--l2", "0",
                                      "--patience", "0", "--hold-out", "0.3", "--out", "noise"});
  EXPECT_NE(classes.err.find("the frequencies of the classes"), std::string::npos) << classes.err;
}

TEST(FirstHour, CoverageThatIsOffIsSaid) {
  const Folder folder;
  write_table(folder, "data.csv", 400);
  const Outcome wide = folder.run(
      tiny_regressor("data.csv", "wide", {"--noise-floor", "3", "--hold-out", "0.4", "--no-temperature"}));
  ASSERT_EQ(wide.code, 0) << wide.err;
  EXPECT_NE(wide.err.find("intervals of y hold "), std::string::npos) << wide.err;
  EXPECT_NE(wide.err.find("too wide"), std::string::npos) << wide.err;
  EXPECT_NE(wide.out.find("not of calibration"), std::string::npos) << wide.out;
  EXPECT_NE(content(folder / "wide/report.json").find("Not calibrated: "), std::string::npos);
  write_table(folder, "new.csv", 300, 9);
  EXPECT_NE(folder.run({"evaluate", "wide", "new.csv"}).err.find("too wide"), std::string::npos);
  EXPECT_EQ(folder.run({"evaluate", "wide", "data.csv"}).err.find("too wide"), std::string::npos);
}

}  // namespace
}  // namespace selfnorm::cli

// Gold labels that were not in the training data are errors of the model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cli/head.h"
#include "cli/program.h"
#include "cli/trained_crf.h"

namespace selfnorm::cli {
namespace {

using Json = nlohmann::json;

int count(const std::string& text, const std::string& word) {
  int n = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

void expect_one_warning(const Outcome& outcome, const std::string& found) {
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(count(outcome.err, "warning"), 1) << outcome.err;
  EXPECT_NE(outcome.err.find(found), std::string::npos) << outcome.err;
}

// `all` is of `seen` and of `unseen` rows more.
void expect_counted(const Json& all, const Json& seen, uint64_t unseen) {
  const double n = seen["n"];
  EXPECT_EQ(all["n"], seen["n"].get<uint64_t>() + unseen);
  EXPECT_EQ(all["unseen_labels"], unseen);
  EXPECT_EQ(all["nll_exact_with_unseen"], "inf");
  EXPECT_FALSE(seen.contains("unseen_labels") || seen.contains("nll_exact_with_unseen"));
  for (const char* key : {"nll_exact", "nll_raw"}) EXPECT_NEAR(all[key], seen[key], 1e-9) << key;
  EXPECT_NEAR(all["accuracy"], seen["accuracy"].get<double>() * n / (n + static_cast<double>(unseen)), 1e-12);
}

struct LabelForm {
  std::string name, train, seen, unseen;  // `unseen` is three rows of two labels
  std::vector<std::string> options;

  friend void PrintTo(const LabelForm& form, std::ostream* out) { *out << form.name; }
};

// Rows of two numbers that tell three classes apart, more or less.
std::string rows(int n, unsigned seed, const std::string& form) {
  std::minstd_rand random(seed);
  std::string out;
  for (int i = 0; i < n; ++i) {
    const unsigned long y = random() % 3, a = y * 2 + random() % 4, b = random() % 7;
    const std::string x = std::to_string(a), z = std::to_string(b), label = "abc" + std::to_string(y);
    out += form == "svm"   ? label + " 1:" + x + " 2:" + z + "\n"
           : form == "csv" ? x + "," + label + "," + z + "\n"
           : form == "tsv" ? x + "\t" + z + "\t" + label + "\n"
                           : label + "\tw" + x + " v" + z + "\n";
  }
  return out;
}

LabelForm form(const std::string& name, const std::string& header, const std::string& unseen,
               std::vector<std::string> options) {
  const std::string kind = name == "bag" || name == "tree" ? "text" : name;
  return {name, header + rows(200, 1, kind), header + rows(100, 2, kind), unseen, std::move(options)};
}

class UnseenLabels : public testing::TestWithParam<LabelForm> {
 protected:
  void SetUp() override {
    folder_.write("train." + extension(), GetParam().train);
    folder_.write("seen." + extension(), GetParam().seen);
    folder_.write("all." + extension(), GetParam().seen + GetParam().unseen);
  }
  std::string extension() const {
    return GetParam().train.find("\tw") == std::string::npos ? GetParam().name : "txt";
  }
  Outcome train(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"train", "classifier", "train." + extension(), "--quiet", "--out", "run"};
    words.insert(words.end(), GetParam().options.begin(), GetParam().options.end());
    words.insert(words.end(), more.begin(), more.end());
    return folder_.run(words);
  }
  Outcome command(const std::string& name, const std::string& data) const {
    std::vector<std::string> words{name, "run", data + "." + extension(), "--json", "--quiet"};
    if (extension() == "txt") words.insert(words.end(), {"--format", "text"});
    return folder_.run(words);
  }

  const Folder folder_;
};

TEST_P(UnseenLabels, CountAsWrong) {
  ASSERT_EQ(train({}).code, 0);
  const Outcome all = command("evaluate", "all");
  expect_one_warning(
      all, "3 rows with a label that the model has not seen in training, the first 'new' (row 100,");
  expect_counted(all.json(), command("evaluate", "seen").json(), 3);
  if (GetParam().name == "tree") return;
  const Outcome audit = command("audit", "all");
  expect_one_warning(audit, "the first 'new' (row 100,");
  expect_counted(audit.json(), command("audit", "seen").json(), 3);
  EXPECT_DOUBLE_EQ(audit.json()["accuracy"].get<double>(), all.json()["accuracy"].get<double>());
}

TEST_P(UnseenLabels, OfValidationData) {
  const Outcome all = train({"--valid", "all." + extension(), "--json"});
  expect_one_warning(all, "the first 'new' (row 100,");
  const Json audit = command("evaluate", "all").json();
  EXPECT_EQ(folder_.run({"info", "run", "--json"}).json()["audit"]["unseen_labels"], 3);
  EXPECT_EQ(folder_.run({"info", "run", "--json"}).json()["audit"]["accuracy"], audit["accuracy"]);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, UnseenLabels,
    testing::Values(form("svm", "", "new 1:1\nnewer 1:2\nnew 2:1\n", {}),
                    form("csv", "x,label,z\n", "1,new,2\n3,newer,4\n5,new,6\n", {}),
                    form("tsv", "x\tz\ty\n", "1\t2\tnew\n3\t4\tnewer\n5\t6\tnew\n", {"--target", "y"}),
                    form("bag", "", "new\tw1\nnewer\tw2 v1\nnew\tv3\n",
                         {"--format", "text", "--encoder", "bag", "--epochs", "5", "--dimension", "4"}),
                    form("tree", "", "new\tw1\nnewer\tw2 v1\nnew\tv3\n",
                         {"--format", "text", "--encoder", "bag", "--objective", "hierarchical", "--epochs",
                          "5", "--dimension", "4"})),
    testing::PrintToStringParamName());

TEST(UnseenLabel, OfAllValidationRows) {
  const Folder folder;
  folder.write("train.svm", "a 1:1\nb 2:1\na 1:2\nb 2:2\n");
  folder.write("new.svm", "c 1:1\nd 2:1\n");
  expect_user_error(folder.run({"train", "classifier", "train.svm", "--valid", "new.svm"}),
                    "new.svm: found the label 'c', which train.svm does not have");
}

// Amortised scores, and arrays that stream by.
TEST(UnseenLabel, OfStates) {
  const Folder folder;
  RandomHead().write(folder / "head.safetensors");
  write_states(folder / "h.safetensors", 300, false);
  ASSERT_EQ(folder
                .run({"normalize", "head.safetensors", "--states", "h.safetensors", "-o", "n.safetensors",
                      "--amortise", "mlp", "--quiet"})
                .code,
            0);
  std::string seen, all;
  for (int i = 0; i < 300; ++i) {
    seen += std::to_string(i % 40) + "\n";
    all += (i == 7 || i == 9 ? "40\n" : std::to_string(i % 40) + "\n");
  }
  folder.write("seen.txt", seen);
  folder.write("all.txt", all);
  const auto run = [&folder](const std::string& labels) {
    return folder.run({"audit", "n.safetensors", "h.safetensors", "--labels", labels, "--json", "--quiet"});
  };
  expect_one_warning(run("all.txt"),
                     "2 rows with a label that the model has not seen in training, the first '40' (row 7,");
  const Json with = run("all.txt").json(), without = run("seen.txt").json();
  EXPECT_EQ(with["unseen_labels"], 2);
  EXPECT_EQ(with["log_z"], without["log_z"]);
  EXPECT_TRUE(with["nll_amortised"].is_number());
}

TEST(UnseenLabel, OfSentences) {
  const Trained folder;
  const std::string seen = content(folder / "test.conll");
  // Two sentences more: a list in one, a span of three tokens in the other.
  folder.write("all.conll",
               seen + "1 B-LST\nAnn B-PER\nwent O\n\nthe O\n2 I-LST\n. I-LST\n. I-LST\nRome B-LOC\n\n");
  const auto run = [&folder](const std::string& command, const std::string& data) {
    return folder.run({command, "run", data, "--json"});
  };
  const Outcome outcome = run("evaluate", "all.conll");
  expect_one_warning(
      outcome, "4 tokens with a label that the model has not seen in training, the first 'B-LST' (line " +
                   std::to_string(count(seen, "\n") + 1) + ")");
  const Json all = outcome.json(), known = run("evaluate", "test.conll").json();
  EXPECT_EQ(all["unseen_labels"], 4);
  EXPECT_EQ(all["unseen_sentences"], 2);
  EXPECT_EQ(all["nll_exact_with_unseen"], "inf");
  EXPECT_FALSE(known.contains("unseen_labels"));
  for (const char* key : {"nll_exact", "nll_raw", "nll_exact_per_token", "nll_raw_per_token"})
    EXPECT_EQ(all[key], known[key]) << key;
  const auto right = [](const Json& j) {
    return std::lround(j["accuracy"].get<double>() * j["tokens"].get<double>());
  };
  EXPECT_EQ(all["tokens"], known["tokens"].get<int>() + 8);
  EXPECT_GT(right(all), right(known));
  EXPECT_LE(right(all), right(known) + 4);
  EXPECT_EQ(all["spans"]["types"]["LST"]["actual"], 2);
  EXPECT_EQ(all["spans"]["types"]["LST"]["correct"], 0);
  EXPECT_EQ(all["spans"]["actual"], known["spans"]["actual"].get<int>() + 4);
  const Outcome audit = run("audit", "all.conll");
  expect_one_warning(audit, "'B-LST'");
  const Json audited = audit.json();
  for (const auto& [key, value] : audited["evaluation"].items()) EXPECT_EQ(value, all[key]) << key;
  // --timing has a probability of what it times.
  EXPECT_EQ(folder.run({"evaluate", "run", "all.conll", "--timing"}).code, 0);

  const Outcome trained = folder.run(train_crf("data.conll", "valid", {"--valid", "all.conll"}));
  expect_one_warning(trained, "all.conll: found 4 tokens");
  EXPECT_EQ(folder.run({"info", "valid", "--json"}).json()["audit"]["unseen_labels"], 4);
}

}  // namespace
}  // namespace selfnorm::cli

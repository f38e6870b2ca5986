// Exact log-probabilities of labellings: what `tag` says of the best one, `score` says of the same labels.
#include <gtest/gtest.h>

#include "cli/sentence_data.h"

namespace selfnorm::cli {
namespace {

TEST(CrfScore, ExactIsAtMostZeroAndThatOfTag) {
  const Folder folder;
  folder.write("data.crfsuite", "A\ta:1\tc\nB\tb:1\tc\nA\ta\n\nB\tb:0.7\nA\ta:0.3\tc\n\n");
  const Outcome trained =
      folder.run(train_crf("data.crfsuite", "run", {"--steps", "20", "--format", "attributes"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  for (const std::string size : {"1e3", "12345.678", "1e5", "98765.4", "3e6"}) {
    const std::string large = ":" + size;
    const std::string words =
        "?\ta" + large + "\tb:0.37\tc:0.11\n?\tb" + large + "\ta:0.77\n?\tc" + large + "\ta:0.3\n";
    const auto tagged = folder.run_on(words, {"tag", "run", "--score", "exact", "--json"});
    ASSERT_EQ(tagged.code, 0) << tagged.err;
    const auto best = tagged.json()["sentences"][0]["labellings"][0];
    std::string labelled = words;
    for (const auto& label : best["labels"])
      labelled.replace(labelled.find('?'), 1, label.get<std::string>());
    const auto scored = folder.run_on(labelled, {"score", "run", "--exact", "--json"});
    ASSERT_EQ(scored.code, 0) << scored.err;
    const double log_prob = scored.json()["sentences"][0]["log_prob"].get<double>();
    EXPECT_LE(log_prob, 0) << size;
    EXPECT_EQ(log_prob, best["log_prob"].get<double>()) << size;
  }
}

}  // namespace
}  // namespace selfnorm::cli

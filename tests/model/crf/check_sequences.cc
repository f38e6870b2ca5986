#include <gtest/gtest.h>

#include <limits>

#include "model/crf/crf_model.h"
#include "selfnorm/error.h"
#include "small_crfs.h"

namespace selfnorm::test {
namespace {

const CrfPlan kPlan{.bigrams = 2, .has_values = true};

template <class Change>
void refused(const Change& change) {
  Sequences data = random_sequences(kPlan);
  change(data);
  EXPECT_THROW(check_sequences(data, kPlan.shape(), "the training data", NeededLabels::known), Error);
}

TEST(CheckSequences, AcceptsWhatFits) {
  EXPECT_NO_THROW(check_sequences(random_sequences(kPlan), kPlan.shape(), "the data", NeededLabels::known));
  EXPECT_NO_THROW(check_sequences(random_sequences({}), kPlan.shape(), "the data", NeededLabels::known));
  Sequences unlabelled = random_sequences(kPlan);
  unlabelled.label[2] = kNoLabel;
  EXPECT_NO_THROW(check_sequences(unlabelled, kPlan.shape(), "the data", NeededLabels::none));
}

TEST(CheckSequences, RefusesWhatDoesNot) {
  refused([](Sequences& d) { d = {}; });
  refused([](Sequences& d) { d.sentence_begin.push_back(d.positions()); });
  refused([](Sequences& d) { d.sentence_begin[0] = 1; });
  refused([](Sequences& d) { d.unigram.begin.pop_back(); });
  refused([](Sequences& d) { d.unigram.begin[1] = d.unigram.begin.back() + 1; });
  refused([](Sequences& d) { d.unigram.attribute[0] = 8; });
  refused([](Sequences& d) { d.bigram.attribute[0] = 2; });
  refused([](Sequences& d) { d.unigram.value.pop_back(); });
  refused([](Sequences& d) { d.unigram.value[0] = std::numeric_limits<float>::infinity(); });
  refused([](Sequences& d) { d.label[0] = 3; });
  refused([](Sequences& d) { d.label[0] = kNoLabel; });
  refused([](Sequences& d) { d.label.pop_back(); });
}

}  // namespace
}  // namespace selfnorm::test

// Sentences as a CRF model sees them: every position has attributes (numbers of strings such as "U00:the"),
// and a label. Attributes of the observation and its label are unigram ones; those of a pair of neighbouring
// labels are bigram ones and are rare: the pair alone is not listed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace selfnorm {

inline constexpr uint32_t kNoLabel = UINT32_MAX;

// Rows of attribute numbers with their values.
struct AttributeRows {
  std::vector<uint64_t> begin{0};   // rows + 1
  std::vector<uint32_t> attribute;  // in increasing order within a row, each once
  std::vector<float> value;         // as many, finite; empty: all are 1

  uint64_t rows() const { return begin.size() - 1; }
  std::span<const uint32_t> attributes(uint64_t row) const {
    return std::span(attribute).subspan(begin[row], begin[row + 1] - begin[row]);
  }
  std::span<const float> values(uint64_t row) const {  // empty: all are 1
    return value.empty() ? std::span<const float>()
                         : std::span(value).subspan(begin[row], begin[row + 1] - begin[row]);
  }
};

// Labels that the model has not learned: errors of the model, which gives them probability 0.
struct UnseenTokens {
  std::vector<std::string> labels;  // the first is numbered as many as the model has labels, and so on
  uint64_t tokens = 0;
  uint64_t line = 0;  // of the first
};

struct Sequences {
  std::vector<uint64_t> sentence_begin{0};  // sentences + 1, in positions
  AttributeRows unigram;                    // a row a position
  AttributeRows bigram;  // a row a position, or none at all; that of a sentence's first position is empty
  std::vector<uint32_t> label;  // a position; kNoLabel where there is none
  UnseenTokens unseen;

  uint64_t sentences() const { return sentence_begin.size() - 1; }
  uint64_t positions() const { return sentence_begin.back(); }
  uint64_t length(uint64_t sentence) const { return sentence_begin[sentence + 1] - sentence_begin[sentence]; }
};

// Those all of whose labels are among the first `labels`, the model's own.
inline std::vector<uint64_t> seen_sentences(const Sequences& data, uint32_t labels) {
  std::vector<uint64_t> out;
  for (uint64_t i = 0; i < data.sentences(); ++i) {
    const auto gold = std::span(data.label).subspan(data.sentence_begin[i], data.length(i));
    if (std::all_of(gold.begin(), gold.end(), [labels](uint32_t k) { return k < labels; })) out.push_back(i);
  }
  return out;
}

}  // namespace selfnorm
